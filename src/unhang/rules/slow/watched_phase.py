"""The live judge saw ranks in a phase of work that made no progress or took too long for others.

## What it finds
In the record of a watched run: ranks that saved, loaded, prepared data, evaluated, compiled or
logged while others waited for them: without any CPU time, bytes or steps for longer than is usual
in that phase, or at work, but for longer than the others' limit.

## Why it hangs
What the phase depends on (a file system, a server, a helper process) does not answer, or is slow;
the others wait in their next collective, and their watchdogs know nothing of it.

## When it stays quiet
While the rank works and nobody has given up waiting: then it is slow, and that is only a hint. The
same holds where only the name of a function in the program suggests the phase.

## How to confirm
The stacks in the capture show the same line of the phase, several times.

## What to do
Look at the file system, the server or the helper process that the line needs; move the work out of
the way of the other ranks (asynchronous or sharded saving, data prepared beforehand).

## References
`unhang run --help`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import HoldUp, SuspicionReason
from unhang.model.incident import Manner
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared.stacks import begun
from unhang.rules.shared.watched import hold_ups, message, waited_for

_GAVE_UP = frozenset({Manner.WATCHDOG, Manner.PEER})
CAUSES = {
    Phase.SAVE: Cause.CHECKPOINT_SLOW,
    Phase.LOAD: Cause.CHECKPOINT_SLOW,
    Phase.DATA: Cause.DATA_SLOW,
    Phase.EVAL: Cause.EVAL_SLOW,
    Phase.GENERATE: Cause.EVAL_SLOW,
    Phase.LOGGING: Cause.EVAL_SLOW,
    Phase.COMPILE: Cause.COMPILE_SLOW,
}
"""What a phase that holds the others up is the cause of."""

_STOOD = say(
    "SLO301.stood",
    "{ranks:ranks} was stuck {work:doing} for {still:s} ({place}), while {victims:ranks}"
    " {waiting:|waits|wait}",
)
_WORKED = say(
    "SLO301.worked",
    "{ranks:ranks} {count:|was|were} {work:doing} ({place}) while {victims:ranks} waited for"
    " {waited:s}",
)


@rule(
    "SLO301",
    "phase-stood-under-watch",
    cause=Cause.CHECKPOINT_SLOW,
    needs={Fact.LIVE},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each phase that stood, or outlasted the patience of the others."""
    for event in hold_ups(
        incident, SuspicionReason.ASLEEP, SuspicionReason.UNINTERRUPTIBLE, SuspicionReason.GIL_KEPT
    ):
        yield from _finding(
            event,
            Strength.SUPPORTS if _is_borne_out(incident, event) else Strength.HINTS,
            _STOOD,
            say(
                "SLO301.why_stood",
                "No CPU time, no bytes and no step moved there for longer than is usual"
                " in that phase.",
            ),
        )
    gave_up = any(f.manner in _GAVE_UP for f in incident.failures) or len(incident.timeouts) > 0
    for event in waited_for(incident):
        yield from _finding(
            event,
            Strength.SUPPORTS if gave_up and _is_borne_out(incident, event) else Strength.HINTS,
            _WORKED,
            say(
                "SLO301.why_worked",
                "Its CPU time, bytes or stack moved until the end: it was at work, and"
                " the others gave up or were ended before it had done.",
            ),
        )


def _is_borne_out(incident: Incident, event: HoldUp) -> bool:
    """Whether more than the name of a function of the program tells the phase."""
    return not event.by_name or begun(incident, event.phase, event.culprits)


def _finding(event: HoldUp, strength: Strength, claim: Message, why: Message) -> Iterator[Finding]:
    cause = None if event.phase is None else CAUSES.get(event.phase)
    if cause is None or event.phase is None:
        return
    yield check.finding(
        strength,
        cause=cause,
        claim=message(claim, event),
        why=message(why, event),
        culprits=event.culprits,
        phase=event.phase,
        at=event.at,
        evidence=[event],
    )
