"""The live judge saw ranks in a phase of work that did not get on, or took too long for the others.

## What it finds
In the record of a watched run: ranks that saved, loaded, prepared data, evaluated, compiled or
logged while others waited for them: without any CPU time, bytes or steps for longer than is usual
in that phase, or at work, but for longer than the others' limit.

## Why it hangs
What the phase depends on (a file system, a server, a helper process) does not answer, or needs its
time; the others wait in their next collective, and their watchdogs know nothing of it.

## When it stays quiet
While the rank works and nobody has given up waiting: then it is slow, and that is only a hint.

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

from unhang.model.causes import Cause
from unhang.model.events import Charge, HoldUp
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident, Manner
from unhang.model.phases import Phase
from unhang.model.rule import Fact, Rule, Status
from unhang.rules.watched import hold_ups, message, waited_for

_GAVE_UP = frozenset({Manner.WATCHDOG, Manner.PEER})
_CAUSES = {
    Phase.SAVE: Cause.CHECKPOINT_SLOW,
    Phase.LOAD: Cause.CHECKPOINT_SLOW,
    Phase.DATA: Cause.DATA_SLOW,
    Phase.EVAL: Cause.EVAL_SLOW,
    Phase.GENERATE: Cause.EVAL_SLOW,
    Phase.LOGGING: Cause.EVAL_SLOW,
    Phase.COMPILE: Cause.COMPILE_SLOW,
}


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each phase that stood, or outlasted the patience of the others."""
    for event in hold_ups(incident, Charge.ASLEEP, Charge.UNINTERRUPTIBLE, Charge.GIL_KEPT):
        yield from _finding(event, "stood", Strength.SUPPORTS)
    gave_up = any(f.manner in _GAVE_UP for f in incident.failures) or len(incident.timeouts) > 0
    for event in waited_for(incident):
        yield from _finding(event, "worked", Strength.SUPPORTS if gave_up else Strength.HINTS)


def _finding(event: HoldUp, how: str, strength: Strength) -> Iterator[Finding]:
    cause = None if event.phase is None else _CAUSES.get(event.phase)
    if cause is None or event.phase is None:
        return
    yield Finding(
        rule=RULE.code,
        cause=cause,
        strength=strength,
        claim=message(f"SLO301.{how}_{event.phase.value}", event),
        why=message(f"SLO301.why_{how}", event),
        culprits=event.culprits,
        phase=event.phase,
        at=event.at,
        evidence=(event.source,),
    )


RULE = Rule(
    code="SLO301",
    name="phase-stood-under-watch",
    cause=Cause.CHECKPOINT_SLOW,
    since="0.2.0",
    status=Status.STABLE,
    needs=frozenset({Fact.LIVE}),
    check=check,
)
