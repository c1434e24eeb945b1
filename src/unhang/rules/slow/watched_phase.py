"""The live judge saw ranks in a phase of work that did not get on while others waited.

## What it finds
In the record of a watched run: ranks that saved, loaded, prepared data, evaluated, compiled or
logged, without any CPU time, bytes or steps for longer than is usual in that phase, while others
waited for them.

## Why it hangs
What the phase depends on (a file system, a server, a helper process) does not answer; the others
wait in their next collective.

## When it stays quiet
While anything of the rank moves: then it is slow, and the run record says so without blame.

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
from unhang.model.events import Charge
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.rule import Fact, Rule, Status
from unhang.rules.watched import hold_ups, message

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
    """Yield one finding for each phase that stood."""
    for event in hold_ups(incident, Charge.ASLEEP, Charge.UNINTERRUPTIBLE, Charge.GIL_KEPT):
        cause = None if event.phase is None else _CAUSES.get(event.phase)
        if cause is None or event.phase is None:
            continue
        yield Finding(
            rule=RULE.code,
            cause=cause,
            strength=Strength.SUPPORTS,
            claim=message(f"SLO301.{event.phase.value}", event),
            why=message("SLO301.why", event),
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
