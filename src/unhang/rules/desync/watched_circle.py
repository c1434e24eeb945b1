"""The live judge saw ranks that waited for each other, and nobody else to blame.

## What it finds
In the record of a watched run: ranks that wait in different calls under one number of a group, or
in calls of several groups, so that each waits for another one, and no rank outside of these waits.
Where two ranks are in sends and receives, unhang does not say which of them is wrong: one has left
out what the other waits for, unless one of them has issued a call where another one always came
next so far. Among more ranks, it names that one, or the one with the most unmatched messages.

## Why it hangs
Each call lacks ranks that wait in another one. That never resolves by itself.

## When it stays quiet
While any rank that the others wait for may still come; in point-to-point operations, whose numbers
may legitimately differ; where all ranks wait in the same call, which may be the network.

## How to confirm
The Flight Recorder dumps in the capture compare the calls themselves.

## What to do
Let all ranks issue the same calls in the same order, in every group.

## References
PyTorch documentation, `torch.distributed`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import HoldUp, SuspicionReason
from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared.watched import hold_ups, message

_TWO = 2
_PAIRWISE = re.compile(r"i?(?:send|recv)(?:_object_list)?|batch_isend_irecv")
_PAIR = say(
    "DSY301.pair",
    "{ranks:ranks} waited for each other in {op}: one of them left out a send or a receive",
)


@rule(
    "DSY301",
    "ranks-waited-for-each-other-under-watch",
    cause=Cause.DESYNC,
    needs={Fact.LIVE},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each standstill among the ranks themselves."""
    for event in hold_ups(incident, SuspicionReason.MISMATCH, SuspicionReason.CIRCLE):
        circle = event.charge is SuspicionReason.CIRCLE
        told = _PAIRWISE.fullmatch(event.op or "") is not None
        pairwise = circle and told and 0 < len(event.culprits) <= _TWO
        between_two = pairwise and len(event.culprits) == _TWO
        yield check.finding(
            Strength.SUPPORTS,
            cause=_cause(event, pairwise=pairwise),
            claim=message(_PAIR, event) if between_two else _claim(event, pairwise=pairwise),
            why=message(
                say(
                    "DSY301.why_circle",
                    "Each of the calls lacked ranks that waited in another one, and no rank was"
                    " elsewhere.",
                )
                if circle
                else say(
                    "DSY301.why",
                    "All of them had issued a call under the same number and waited, no rank was"
                    " elsewhere, and the calls are not the same.",
                ),
                event,
            ),
            culprits=NO_RANKS if between_two else event.culprits,
            phase=event.phase,
            at=event.at,
            evidence=[event],
        )


def _cause(event: HoldUp, *, pairwise: bool) -> Cause | None:
    """Why, unless some of two sides are in a barrier: they may only be through with their steps."""
    if event.charge is SuspicionReason.CIRCLE and not pairwise:
        # Who makes a group issues no call: some have made one more than the others before.
        named = event.group is not None and event.seq is None
        making = named and _PAIRWISE.fullmatch(event.op or "") is None
        return Cause.DESYNC if making else Cause.PG_DEADLOCK
    tie = event.charge is SuspicionReason.MISMATCH and not (event.culprits and event.victims)
    return None if tie and event.op == "barrier" else Cause.DESYNC


def _claim(event: HoldUp, *, pairwise: bool) -> Message:
    if event.move:
        return message(Message(key=f"live.strayed{'' if event.due else '_alone'}"), event)
    if event.culprits and event.victims:
        kind = f"{event.charge.value}_odd"
        if event.charge is SuspicionReason.CIRCLE and len(event.culprits) > 1:
            kind = "circle_behind"
        return message(Message(key=f"live.{'circle_crossed' if pairwise else kind}"), event)
    if event.charge is SuspicionReason.CIRCLE:
        return message(
            say(
                "DSY301.circle",
                "{all:ranks} waited for each other in calls of different process groups",
            ),
            event,
        )
    return message(
        say(
            "DSY301.mismatch",
            "{all:ranks} waited in different calls under number {seq} of their group",
        ),
        event,
    )
