"""Stacks show the one rank that is in no collective at work in a phase of its own.

## What it finds
The rank that is outside the wait of all others (LOC201), in code that shows what it is doing:
it saves, loads, evaluates, generates, logs, prepares data, compiles, or is past the training loop
and shuts down.

## Why it hangs
The others issued the next collective and wait for the rank at work; the watchdog measures their
wait, not its progress.

## When it stays quiet
As LOC201. It is only a hint where a process failed first, where the rank itself gave up waiting,
where several ranks are elsewhere for different reasons, or where only the name of a function in the
program suggests what it does: then neither the code below it (the model, reads or writes) nor a
line of the log confirms the name.

## How to confirm
Take the stacks again: a rank at work moves within its phase, a stuck one does not.

## What to do
Saving: sharded or asynchronous saves. Data: prepare them before the first collective. Evaluation:
on all ranks, or between barriers of a group with a timeout that covers it. Compilation: warm up
before training. Past the loop: give all ranks the same number of steps, or `Join`.

## References
`torch.distributed.algorithms.join`; `torch.distributed.checkpoint.async_save`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.model.stack_states import StackState
from unhang.model.waits import Wait
from unhang.rules.shared import consequences
from unhang.rules.shared.stacks import (
    alarmed,
    by_name_alone,
    contradicted,
    denial,
    find_wait_of_stacks,
    ranks,
    silent,
    states_of,
)

CAUSES = {
    Phase.SAVE: Cause.CHECKPOINT_SLOW,
    Phase.LOAD: Cause.CHECKPOINT_SLOW,
    Phase.DATA: Cause.DATA_SLOW,
    Phase.EVAL: Cause.EVAL_SLOW,
    Phase.GENERATE: Cause.EVAL_SLOW,
    Phase.LOGGING: Cause.EVAL_SLOW,
    Phase.COMPILE: Cause.COMPILE_SLOW,
    Phase.TEARDOWN: Cause.UNEVEN_WORK,
}
"""What a phase that holds the others up is the cause of."""
_AT_WORK = say(
    "SLO201.claim",
    "{ranks:ranks} {at_work:|is|are} {work:doing} (`{frame}`) while {waiters:ranks}"
    " {waiting:|waits|wait}",
)
_DONE = say(
    "SLO201.claim_teardown",
    "{ranks:ranks} {at_work:|is|are} done with the training loop (`{frame}`)"
    " while {waiters:ranks} {waiting:|waits|wait} in it",
)


@rule(
    "SLO201",
    "rank-at-work-while-others-wait",
    cause=Cause.CHECKPOINT_SLOW,
    needs={Fact.STACKS},
    explains=consequences.OF_WORK_THAT_LASTS,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each cause that the ranks elsewhere show."""
    wait = find_wait_of_stacks(incident)
    if wait is None:
        return
    by_cause: dict[Cause, list[StackState]] = {}
    for stance in states_of(incident, wait.awaited):
        if stance.phase in CAUSES:
            by_cause.setdefault(CAUSES[stance.phase], []).append(stance)
    for cause, found in by_cause.items():
        yield _finding(incident, wait, cause, found)


def _finding(incident: Incident, wait: Wait, cause: Cause, found: list[StackState]) -> Finding:
    first, culprits = found[0], ranks(found)
    strength = _strength(incident, wait, found)
    assert first.phase is not None
    values = {
        "ranks": culprits,
        "work": first.phase.value,
        "count": len(wait.waiters | wait.awaited),
        "at_work": len(culprits),
        "waiting": len(wait.waiters),
        "frame": first.frame,
        "code": first.code or first.frame,
        "waiters": wait.waiters,
    }
    return check.finding(
        strength,
        cause=cause,
        claim=(_DONE if first.phase is Phase.TEARDOWN else _AT_WORK).using(**values),
        why=say(
            "SLO201.why",
            "The stacks of {count} processes were taken, and only {ranks:ranks}"
            " {at_work:|is|are} in no collective; the program's own line is {code}.",
            **values,
        ),
        against=denial(incident, culprits) or _against(incident, wait, first),
        culprits=culprits,
        phase=first.phase,
        call=incident.calls[0] if incident.calls else None,
        evidence=tuple(s.source for s in (*found[:3], *states_of(incident, wait.waiters)[:1])),
    )


def _strength(incident: Incident, wait: Wait, found: list[StackState]) -> Strength:
    if len(found) < len(wait.awaited) or contradicted(incident, ranks(found)):
        return Strength.HINTS
    if any(by_name_alone(incident, state) for state in found):
        return Strength.HINTS
    known = all(s.certain for s in found) and found[0].phase is not Phase.TEARDOWN
    return (
        Strength.PROVES if alarmed(wait) and known and not silent(incident) else Strength.SUPPORTS
    )


def _against(incident: Incident, wait: Wait, first: StackState) -> Message | None:
    if silent(incident):
        return say("SLO201.against_silent", "{ranks:ranks} left no stack.", ranks=silent(incident))
    if by_name_alone(incident, first):
        return say(
            "SLO201.against_by_name",
            "Only the name of a function in the program suggests what it does ({code}).",
            code=first.code,
        )
    return (
        None
        if alarmed(wait)
        else say(
            "SLO201.against_no_alarm",
            "No time-out was seen: a healthy job may look like this for a moment.",
        )
    )
