"""The last collective that NCCL Inspector saw end before a time-out.

## What it finds
Beside a collective that timed out: the last collective that ended on any rank with a log of NCCL
Inspector, and the ranks of its communicator that had finished fewer of them.

## Why it hangs
It does not say. A collective that hangs is never written, neither by the ranks that wait nor by the
one that is absent. It shows since when nothing has completed, and how far the communicator got.

## When it stays quiet
Where no line tells which collective was a rank's last one: long logs are read in samples. It names
no culprits, for a rank may have finished one and not written it: a remark on what the other sources
say.

## How to confirm
The Flight Recorder's dumps of the members of that communicator.

## What to do
Read the findings of the other sources.

## References
NCCL `ext-profiler/inspector/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import CollectivesMeasured
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import measured


@rule("LOC208", "last-finished-collective", needs={Fact.INSPECTOR})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one remark on the collective that ended last."""
    found = [e for e in incident.all(CollectivesMeasured) if e.exact and e.at is not None]
    if not incident.calls or not found:
        return
    last = max(found, key=_ended_s)
    peers = [e for e in found if (e.comm, e.last_op) == (last.comm, last.last_op)]
    most = max(e.last_seq for e in peers)
    fewer = [e for e in peers if e.last_seq < most]
    ranks = frozenset(r for e in fewer if (r := measured.rank_of(incident, e)) is not None)
    yield check.finding(
        Strength.HINTS,
        claim=say(
            "LOC208.claim_fewer",
            "The last collective that NCCL Inspector saw end is {op} #{seq} of"
            " communicator {comm}; {ranks:ranks} had written fewer.",
            op=last.last_op,
            seq=most,
            comm=last.comm,
            ranks=ranks,
        )
        if ranks
        else say(
            "LOC208.claim",
            "The last collective that NCCL Inspector saw end is {op} #{seq} of"
            " communicator {comm}.",
            op=last.last_op,
            seq=most,
            comm=last.comm,
        ),
        why=say("LOC208.why", "Only completed collectives are written: none has completed since."),
        at=last.at,
        evidence=[last, *fewer],
    )


def _ended_s(event: CollectivesMeasured) -> float:
    return 0.0 if event.at is None else event.at.seconds
