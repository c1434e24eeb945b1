"""A rank exited by itself, and nothing in the input says why.

## What it finds
Ranks that ended with a non-zero exit code of their own (not by their watchdog, not by the
launcher's SIGTERM) while the logs hold neither a traceback nor another reason for any process. Also
the one rank of the job that says nothing, where the connections of all others to a peer were
closed; if the cluster says that its pod was stopped, that is the cause.

## Why it hangs
Whatever ended the rank, it does not issue the next collective, and the others wait.

## When it stays quiet
When any process says why it failed, when the job was stopped from outside, and when all ranks that
were seen left in the same way: then none of them is special. When another rank had given up waiting
with an exception before, and the exit code is 1 or unknown: the rank that left may have done just
the same.

## How to confirm
The log of that rank, from its last step on. torchrun shows the traceback in its table when the main
function is decorated with `@record`.

## What to do
Find the rank's own output (`--log-dir` with `--redirects 3`, `--tee 3`) and read its last lines.

## References
`torch.distributed.elastic.multiprocessing.errors.record`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.model.events import ClosingSignal
from unhang.model.finding import Collect
from unhang.model.ids import NO_RANKS
from unhang.model.incident import Failure, Manner, ranks_of
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.crash import doubts
from unhang.rules.shared import order

_TRACEBACK = Collect.of("rank_traceback")
_UNCAUGHT = 1
"""The exit code of Python after an exception that nobody caught."""


@rule(
    "CRA008",
    "rank-left-without-a-word",
    cause=Cause.RANK_EXCEPTION,
    needs={Fact.EXITS, Fact.GLOO, Fact.STORE, Fact.NCCL_WARNINGS},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield who left, as a place and as a hint at an exception."""
    left = [f for f in incident.failures if f.manner is Manner.EXITED]
    if not incident.own_failures:
        yield from _lost_by_all(incident)
    if not left or any(f.manner in order.DECISIVE for f in incident.failures):
        return
    if order.stops(incident):
        return
    ranks = ranks_of(left)
    claim = (
        say(
            "CRA008.claim",
            "{ranks:ranks} exited with an error, and the logs do not say why",
            ranks=ranks,
        )
        if ranks
        else say(
            "CRA008.claim_nobody", "a process exited with an error, and the logs do not say why"
        )
    )
    evidence = tuple(f.source for f in left)[:4]
    alike = len(ranks) > 1 and ranks == frozenset(incident.roster)
    if ranks and not alike and incident.world.size != 1 and not _others_gave_up(incident, left[0]):
        yield check.finding(
            Strength.SUPPORTS,
            cause=None,
            claim=claim,
            why=say(
                "CRA008.why",
                "The logs hold neither a traceback nor any other reason.",
            ),
            culprits=ranks,
            at=left[0].at,
            evidence=evidence,
            collect=(_TRACEBACK,),
        )
    yield check.finding(
        Strength.HINTS,
        claim=claim,
        why=say("CRA008.why", "The logs hold neither a traceback nor any other reason."),
        at=left[0].at,
        evidence=evidence,
        collect=(_TRACEBACK,),
    )


def _lost_by_all(incident: Incident) -> Iterator[Finding]:
    """The only rank that lost no peer: it is the one that the others lost."""
    lost = [f for f in incident.failures if any(map(doubts.lost_a_peer, f.events))]
    peers, world = ranks_of(lost), incident.world.ranks
    left = NO_RANKS if world is None else world - peers
    if len(left) != 1 or not peers or incident.timeouts or order.stops(incident):
        return
    gone = frozenset(left)
    facts = incident.roster.get(next(iter(gone)))
    if facts is None or not facts.observed:
        return
    closed = incident.all(ClosingSignal)
    alone = facts.host is not None and {signal.host for signal in closed} == {facts.host}
    found = check.finding(
        Strength.SUPPORTS,
        cause=None,
        claim=say(
            "CRA008.claim_lost",
            "{ranks:ranks} went away without a word: all others lost their connection to a peer.",
            ranks=gone,
        ),
        why=say("CRA008.why_lost", "Of the whole job it is the only rank that lost nobody."),
        culprits=gone,
        at=lost[0].at,
        evidence=[*closed[:1], *lost[:3]],
        collect=(_TRACEBACK,),
    )
    yield replace(found, cause=Cause.EXTERNAL_STOP) if alone else found


def _others_gave_up(incident: Incident, left: Failure) -> bool:
    """Whether another rank failed in its wait, by an exception, and not after the exit.

    Who left with a code of its own did not do the same: an exception gives 1.
    """
    return left.exit_code in {None, _UNCAUGHT} and any(
        f.manner is Manner.PEER and f.rank != left.rank and order.is_before(left, f) is not True
        for f in incident.failures
    )
