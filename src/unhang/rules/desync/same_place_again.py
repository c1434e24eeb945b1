"""A job with a longer timeout failed again at the same collective.

## What it finds
In one log, time-outs of one rank in one operation, size and sequence number, with different
configured limits.

## Why it hangs
Work that is merely slow gets through when it is given more time. What fails at the same number
again waits for something that never comes: a branch, a batch or a graph that differs.

## When it stays quiet
When all time-outs have one limit, and for the first calls of a job, where transport and set-up
fail at the same place too. It never decides alone.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL` up to that number.

## What to do
Do not raise the timeout further; find what the ranks do differently at that step.

## References
None.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from unhang.model.events import CollectiveTimeout
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say

_SET_UP = 8
"""Numbers below this are the first calls of a job."""


@rule(
    "DSY013",
    "same-place-with-a-longer-timeout",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    status=Status.PREVIEW,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one hint for the first place that failed under two limits."""
    seen: dict[Hashable, CollectiveTimeout] = {}
    for event in incident.timeouts:
        if event.seq is None or event.seq < _SET_UP or event.timeout_ms is None:
            continue
        place = (event.origin.rank, event.group_rank, event.seq, event.op, event.numel_in)
        before = seen.setdefault(place, event)
        if before.timeout_ms is not None and before.timeout_ms != event.timeout_ms:
            yield check.finding(
                Strength.HINTS,
                claim=say(
                    "DSY013.claim",
                    "{op:ops} number {seq} timed out with {shorter:ms} and again with {longer:ms}.",
                    op=event.op,
                    seq=event.seq,
                    shorter=min(before.timeout_ms, event.timeout_ms),
                    longer=max(before.timeout_ms, event.timeout_ms),
                ),
                why=say(
                    "DSY013.why",
                    "Slow work finishes when given more time; this waits for something that"
                    " never comes.",
                ),
                at=before.at,
                evidence=[before, event],
            )
            return
