"""The host kept issuing calls while the device was stuck in an earlier one.

## What it finds
A stuck call after which its rank has issued many more.

## Why it hangs
Collectives are issued asynchronously. The Python code is far past the call that hangs, so a stack
of the process at that time shows another place.

## When it stays quiet
When only a few works are in flight, which is an ordinary queue.

## How to confirm
The Flight Recorder keeps the stack at which the stuck call was issued.

## What to do
Look at the call's own stack in the dump and not at the stack of the process.

## References
`TORCH_NCCL_TRACE_BUFFER_SIZE` (`TORCH_FR_BUFFER_SIZE` since 2.8).
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say

_QUEUE = 8
"""Works in flight that an ordinary step keeps ahead of the device."""


@rule("LOC007", "host-ran-ahead-of-the-device", needs={Fact.STATUS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first call that hosts ran far past."""
    for call in incident.calls:
        past = [
            j
            for j in call.joins.values()
            if j.enqueued is not None
            and j.completed is not None
            and j.enqueued - j.completed > _QUEUE
        ]
        if past:
            yield check.finding(
                Strength.HINTS,
                claim=say(
                    "LOC007.claim",
                    "{ranks:ranks} had issued {count} works past the last completed one.",
                    ranks=frozenset(j.rank for j in past),
                    count=max((j.enqueued or 0) - (j.completed or 0) for j in past),
                ),
                why=say(
                    "LOC007.why",
                    "The Python code is past the call that hangs; its stack shows another place.",
                ),
                at=past[0].at,
                call=call,
                evidence=past,
            )
            return
