"""Some ranks were notified of the time-out by others and had none of their own.

## What it finds
Ranks that dump on another rank's signal ("Observed flight recorder dump signal", "Received a dump
signal … from rank 2") and report no time-out.

## Why it hangs
A rank that is alive and does not wait in the stuck call has not issued the others' call, or is a
member of other groups only.

## When it stays quiet
It never does more than hint: such a rank may be a bystander, or about to time out itself. The rank
that the signal comes from raised the alarm: a victim.

## How to confirm
Look at the stack of the ranks that are named.

## What to do
Collect their Flight Recorder dumps: the signal made them write some.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, the heartbeat monitor.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import DumpReason, DumpSignal
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import speakers


@rule("LOC004", "rank-told-of-the-timeout", needs={Fact.TIMEOUTS, Fact.STATUS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one hint that names all such ranks."""
    waiting = incident.gave_up
    alarmed = {speakers.of_dump(s) for s in incident.all(DumpSignal) if s.reason is DumpReason.OWN}
    told = [
        s
        for s in incident.all(DumpSignal)
        if s.reason is not DumpReason.OWN
        and speakers.of_dump(s) is not None
        and speakers.of_dump(s) not in waiting | alarmed
    ]
    if not told or not (incident.calls or alarmed):
        return
    ranks = frozenset(rank for s in told if (rank := speakers.of_dump(s)) is not None)
    yield check.finding(
        Strength.HINTS,
        claim=say(
            "LOC004.claim",
            "{ranks:ranks} did not time out themselves; other ranks notified them.",
            ranks=ranks,
        ),
        why=say(
            "LOC004.why",
            "A rank that is alive and does not wait either has not issued the call or is a "
            "bystander.",
        ),
        culprits=ranks,
        at=told[0].at,
        evidence=told,
    )
