"""The live judge saw ranks that did not move while others waited for them.

## What it finds
In the record of a watched run: ranks that were stopped, asleep, kept in the kernel, whose
interpreter lock was never free, that computed at one line without a step, or of which nothing was
ever seen, and the ranks that waited for them.

## Why it hangs
A collective completes only when every rank has joined. A rank that does not move will not join.

## When it stays quiet
For a rank that works, however slowly: its CPU time, bytes, steps or stack moved. For a suspicion
that was dropped again. For ranks that only waited themselves.

## How to confirm
The stacks in the capture show the line at which the rank stood, several times.

## What to do
Look at the line of the program that is named, and at what it waits for. For a rank that was never
seen: was it started at all, on each node, with the world size that the others were told?

## References
`unhang run --help`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import SuspicionReason
from unhang.model.rule import Fact, Finding, Incident, Message, rule, say
from unhang.rules.shared.watched import hold_ups, message, strength

_CHARGES = (
    SuspicionReason.STOPPED,
    SuspicionReason.ASLEEP,
    SuspicionReason.GIL_KEPT,
    SuspicionReason.UNINTERRUPTIBLE,
    SuspicionReason.SILENT,
    SuspicionReason.SPINNING,
    SuspicionReason.NEVER_CAME,
)


@rule("LOC301", "rank-stood-still-under-watch", needs={Fact.LIVE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each kind of standstill."""
    for event in hold_ups(incident, *_CHARGES):
        yield check.finding(
            strength(event),
            claim=message(Message(key=f"live.{event.charge.value.replace('-', '_')}"), event),
            why=message(
                say(
                    "LOC301.why",
                    "The judge watched all processes while the job ran: {victims:ranks}"
                    " {waiting:|waits|wait} in {op} for {waited:s}, and every collective needs all"
                    " its ranks.",
                ),
                event,
            ),
            culprits=event.culprits,
            phase=event.phase,
            at=event.at,
            evidence=[event],
        )
