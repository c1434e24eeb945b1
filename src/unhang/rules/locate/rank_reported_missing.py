"""A report of PyTorch itself names the ranks that did not come.

## What it finds
The desync report ("didn't join collective", "never joined any collectives") and monitored barriers
("Ranks 2, 3 failed to pass").

## Why it hangs
The others wait for the ranks that are named. Why these stayed away is for the cause rules to say.

## When it stays quiet
A report that names all ranks accuses nobody. A rank that reached a monitored barrier and could not
talk to its root knows only that the barrier failed: with two ranks the root is the missing one,
with more it is a hint to read the root's log. The root takes the ranks in order, so rank 1 is the
first that it meets: where rank 1 could not even send, the root never came.

## How to confirm
Read the log of the ranks that are named, at the time of the hang.

## What to do
Read the findings that name the same ranks.

## References
`torch/csrc/distributed/c10d/TraceUtils.h`; `torch.distributed.monitored_barrier`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import BarrierMissing, DesyncReported, GlooFault, GlooProblem
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.rule import Fact, Finding, Incident, Message, Strength, rule, say


@rule("LOC002", "rank-reported-missing", needs={Fact.DESYNC_REPORT, Fact.BARRIERS}, since="0.1.0")
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the report, and one for the barrier."""
    yield from _from_reports(incident)
    yield from _from_barriers(incident)


def _from_reports(incident: Incident) -> Iterator[Finding]:
    reports = incident.all(DesyncReported)
    absent = NO_RANKS.union(*(r.absent for r in reports))
    joined = NO_RANKS.union(*(r.joined for r in reports))
    if not absent or absent <= joined or _is_everybody(absent, joined, incident):
        return
    telling = [r for r in reports if r.absent]
    yield _finding(
        telling,
        absent - joined,
        Strength.PROVES,
        say(
            "LOC002.claim_report",
            "{ranks:ranks} did not join the collective that the others wait in.",
            ranks=absent - joined,
        ),
    )


def _from_barriers(incident: Incident) -> Iterator[Finding]:
    barriers = incident.all(BarrierMissing)
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


def _strength(incident: Incident, barriers: Sequence[BarrierMissing], roots: Ranks) -> Strength:
    """How surely the root itself is missing, by those who waited for it."""
    if incident.world.size == len(roots) + 1:
        return Strength.PROVES
    first_met = any(b.reporter == Rank(1) for b in barriers) and roots == {Rank(0)}
    unsent = any(g.problem is GlooProblem.SEND_TIMED_OUT for g in incident.all(GlooFault))
    return Strength.SUPPORTS if first_met and unsent else Strength.HINTS


def _is_everybody(absent: Ranks, reported: Ranks, incident: Incident) -> bool:
    """Whether the report names all ranks of the job, or all of which anything is known."""
    if incident.world.ranks is not None:
        return not incident.world.ranks - absent
    joined = incident.gave_up
    known = joined | reported | incident.coverage.ranks_seen
    return len(known) > 0 and absent >= known


def _finding(
    events: list[DesyncReported] | list[BarrierMissing],
    ranks: Ranks,
    strength: Strength,
    claim: Message,
) -> Finding:
    return check.finding(
        strength,
        claim=claim,
        why=say("LOC002.why", "PyTorch compared the ranks itself and names them."),
        culprits=ranks,
        at=events[0].at,
        evidence=events,
    )
