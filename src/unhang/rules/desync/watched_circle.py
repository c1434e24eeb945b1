"""The live judge saw ranks that waited for each other, and nobody else to blame.

## What it finds
In the record of a watched run: ranks that wait in different calls under one number of a group, or
in calls of several groups, so that each waits for another one, and no rank outside of these waits.

## Why it hangs
Each call lacks ranks that wait in another one. Nothing will ever end that by itself.

## When it stays quiet
While any rank that the others wait for may still come; in point-to-point operations, whose numbers
differ rightly; where all ranks wait in the same call, which may be the network.

## How to confirm
The Flight Recorder dumps in the capture compare the calls themselves.

## What to do
Let all ranks issue the same calls in the same order, in every group.

## References
PyTorch documentation, `torch.distributed`: calls must be issued in the same order on all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.events import Charge, HoldUp
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.rules.watched import hold_ups, message


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each standstill among the ranks themselves."""
    for event in hold_ups(incident, Charge.MISMATCH, Charge.CIRCLE):
        circle = event.charge is Charge.CIRCLE
        yield Finding(
            rule=RULE.code,
            cause=Cause.PG_DEADLOCK if circle else Cause.DESYNC,
            strength=Strength.SUPPORTS,
            claim=_claim(event),
            why=message("DSY301.why_circle" if circle else "DSY301.why", event),
            culprits=event.culprits,
            phase=event.phase,
            at=event.at,
            evidence=(event.source,),
        )


def _claim(event: HoldUp) -> Message:
    odd = "_odd" if event.culprits else ""
    key = f"DSY301.{event.charge.value}" if not odd else f"live.{event.charge.value}_odd"
    return message(key, event)


RULE = Rule(
    code="DSY301",
    name="ranks-waited-for-each-other-under-watch",
    cause=Cause.DESYNC,
    since="0.2.0",
    status=Status.STABLE,
    needs=frozenset({Fact.LIVE}),
    check=check,
)
