"""A report of the library itself names the ranks that did not come.

## What it finds
The desync report of PyTorch ("didn't join collective", "never joined any collectives"), monitored
barriers ("Ranks 2, 3 failed to pass"), Horovod's stall report ("Missing ranks"), and kernels of
DeepEP that gave up on a peer in an expert-parallel dispatch or combine ("timeout check failed",
"timeout for dispatch receive"). Ranks that gave up receiving from one peer, each by its own words,
or from others that did, name the peer at the end of the chain. Also a program's own monitors that
say which rank sent no heartbeat or did not check in: these only support, because the rank that they
lost may be a victim.

## Why it hangs
The others wait for the ranks that are named. Why they did not come is left to the cause rules.

## When it stays quiet
A report that names all ranks accuses nobody. A rank that reached a monitored barrier and could not
talk to its root knows only that the barrier failed: with two ranks the root is the missing one,
with more it is a hint to read the root's log. The root takes the ranks in order, so rank 1 is the
first that it meets: where rank 1 could not even send, the root never came. A peer that gave up on
others itself is not the one that is missing. Kernels count peers within one host: where nothing
tells which ranks of the job these are, nobody is named.

## How to confirm
Read the log of the ranks that are named, at the time of the hang.

## What to do
Read the findings that name the same ranks.

## References
`torch/csrc/distributed/c10d/TraceUtils.h`; `torch.distributed.monitored_barrier`;
`horovod/common/stall_inspector.cc`; DeepEP, `csrc/kernels/legacy/utils.cuh`, `internode_ll.cu`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import BarrierMissing, DesyncReported, GlooFault, GlooProblem, Waiter
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.rule import Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import rivals, speakers

_SEVERAL = _PAIR = 2
_ON_A_HOST = 8
"""A job of so few ranks has one host, so that ranks of the host are those of the job."""


@rule("LOC002", "rank-reported-missing", needs={Fact.DESYNC_REPORT, Fact.BARRIERS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the report, the barrier, kernels that gave up, and watchers."""
    yield from _from_reports(incident)
    yield from _from_barriers(incident)
    yield from _from_kernels(incident)
    yield from _from_watchers(incident)
    yield from _from_receivers(incident)


def _from_reports(incident: Incident) -> Iterator[Finding]:
    reports = incident.all(DesyncReported)
    absent = NO_RANKS.union(*(r.absent for r in reports))
    joined = NO_RANKS.union(*(r.joined for r in reports))
    if not absent and any(r.all_joined for r in reports):  # everybody else did not come
        absent = frozenset(incident.world.ranks or incident.roster) - joined
    if not absent or absent <= joined or speakers.are_all(absent, joined, incident):
        return
    yield _finding(
        [r for r in reports if r.absent or r.all_joined],
        absent - joined,
        Strength.PROVES,
        say(
            "LOC002.claim_report",
            "{ranks:ranks} did not join the collective that the others wait in.",
            ranks=absent - joined,
        ),
    )


def _from_barriers(incident: Incident) -> Iterator[Finding]:
    barriers = [b for b in incident.all(BarrierMissing) if b.waiter is Waiter.PROGRAM]
    direct = [b for b in barriers if b.direct]
    if direct:
        missing = NO_RANKS.union(*(b.missing for b in direct))
        claim = say(
            "LOC002.claim_barrier",
            "{ranks:ranks} did not reach the monitored barrier.",
            ranks=missing,
        )
        yield _finding(direct, missing, Strength.PROVES, claim)
    elif barriers:
        roots = NO_RANKS.union(*(b.missing for b in barriers))
        strength = _strength(incident, barriers, roots)
        claim = say(
            "LOC002.claim_root",
            "Others reached the monitored barrier and could not talk to {ranks:ranks}.",
            ranks=roots,
        )
        yield _finding(list(barriers), roots, strength, claim)


def _from_kernels(incident: Incident) -> Iterator[Finding]:
    """A peer that kernels waited for, and that did not give up on others itself."""
    size = incident.world.size
    one_host = size is not None and size <= _ON_A_HOST
    told = [b for b in incident.all(BarrierMissing) if b.waiter is Waiter.KERNEL]
    kernels = [b for b in told if one_host or not b.on_host]
    gave_up = frozenset(b.reporter for b in kernels)
    absent = NO_RANKS.union(*(b.missing for b in kernels)) - gave_up
    if not absent or speakers.are_all(absent, NO_RANKS, incident):
        return
    yield _finding(
        [b for b in kernels if b.missing & absent],
        absent,
        Strength.PROVES if len(gave_up) > len(absent) else Strength.SUPPORTS,
        say(
            "LOC002.claim_kernel",
            "{ranks:ranks} did not join the expert-parallel exchange that the others' GPU kernels"
            " waited in.",
            ranks=absent,
        ),
        say("LOC002.why_kernel", "DeepEP's kernels name the peer that they wait for."),
    )


def _from_watchers(incident: Incident) -> Iterator[Finding]:
    """The first report of a watcher; later ones name those that were lost because of it."""
    told = [b for b in incident.all(BarrierMissing) if b.waiter is Waiter.WATCHER]
    if not told:
        return
    absent = told[0].missing - incident.gave_up
    if not absent or speakers.are_all(absent, NO_RANKS, incident):
        return
    weight = rivals.weigh(incident, told[0], Strength.SUPPORTS)
    claim = say(
        "LOC002.claim_watcher",
        "the program itself reports that {ranks:ranks} did not answer or did not arrive",
        ranks=absent,
    )
    why = say("LOC002.why_watcher", "It counts its ranks, and these were the first that it missed.")
    yield _finding(told[:1], absent, weight.strength, claim, why, against=weight.against)


def _from_receivers(incident: Incident) -> Iterator[Finding]:
    """The one rank that all chains of receives end at: it gave up on nobody itself."""
    told = [b for b in incident.all(BarrierMissing) if b.waiter is Waiter.RECEIVER]
    waiters = frozenset(b.reporter for b in told)
    senders = NO_RANKS.union(*(b.missing for b in told)) - waiters - incident.gave_up
    if len(senders) != 1 or (len(waiters) < _SEVERAL and incident.world.size != _PAIR):
        return
    weight = rivals.weigh(incident, told[0], Strength.SUPPORTS)
    claim = say(
        "LOC002.claim_sender",
        "{waiters:ranks} gave up waiting for what {ranks:ranks} should have sent",
        waiters=frozenset(r for r in waiters if r is not None),
        ranks=senders,
    )
    why = say(
        "LOC002.why_sender",
        "Who receives names its peer; all of them end at the one that gave up on nobody.",
    )
    yield _finding(list(told), senders, weight.strength, claim, why, against=weight.against)


def _strength(incident: Incident, barriers: Sequence[BarrierMissing], roots: Ranks) -> Strength:
    """How surely the root itself is missing, by those who waited for it."""
    if incident.world.size == len(roots) + 1:
        return Strength.PROVES
    first_met = any(b.reporter == Rank(1) for b in barriers) and roots == {Rank(0)}
    unsent = any(g.problem is GlooProblem.SEND_TIMED_OUT for g in incident.all(GlooFault))
    return Strength.SUPPORTS if first_met and unsent else Strength.HINTS


def _finding(
    events: list[DesyncReported] | list[BarrierMissing],
    ranks: Ranks,
    strength: Strength,
    claim: Message,
    why: Message | None = None,
    *,
    against: Message | None = None,
) -> Finding:
    return check.finding(
        strength,
        claim=claim,
        why=why or say("LOC002.why", "The library compared the ranks itself and names them."),
        against=against,
        culprits=ranks,
        at=events[0].at,
        evidence=events,
    )
