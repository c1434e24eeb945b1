"""Stacks show the one rank that is in no collective at work in a phase of its own.

## What it finds
The rank that stands outside the wait of all others (LOC201), in code that tells what it is doing:
it saves, loads, evaluates, generates, logs, prepares data, compiles, or is past the training loop
and shuts down.

## Why it hangs
The others issued the next collective and wait for the rank at work; the watchdog measures their
wait, not its progress.

## When it stays quiet
As LOC201. It is only a hint where a process failed first, where the rank itself gave up waiting, or
where several ranks are elsewhere for different reasons.

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

from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.model.stances import Stance
from unhang.rules.standpoints import Scene, contradicted, find_scene, ranks

_CAUSES = {
    Phase.SAVE: Cause.CHECKPOINT_SLOW,
    Phase.LOAD: Cause.CHECKPOINT_SLOW,
    Phase.DATA: Cause.DATA_SLOW,
    Phase.EVAL: Cause.EVAL_SLOW,
    Phase.GENERATE: Cause.EVAL_SLOW,
    Phase.LOGGING: Cause.EVAL_SLOW,
    Phase.COMPILE: Cause.COMPILE_SLOW,
    Phase.TEARDOWN: Cause.UNEVEN_WORK,
}
_ECHOES = frozenset(
    {
        Cause.TIMEOUT_SHORT,
        Cause.RENDEZVOUS,
        Cause.NET_INTERFACE,
        Cause.BANDWIDTH_LOW,
        Cause.PG_DEADLOCK,
        Cause.RANK_EXCEPTION,
        Cause.RANK_CRASH,
    }
)
"""A rank that comes late makes the others give up, raise, abort and close their connections."""


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each cause that the ranks elsewhere show."""
    scene = find_scene(incident)
    if scene is None:
        return
    by_cause: dict[Cause, list[Stance]] = {}
    for stance in scene.elsewhere:
        if stance.phase in _CAUSES:
            by_cause.setdefault(_CAUSES[stance.phase], []).append(stance)
    for cause, found in by_cause.items():
        yield _finding(incident, scene, cause, found)


def _finding(incident: Incident, scene: Scene, cause: Cause, found: list[Stance]) -> Finding:
    first, culprits = found[0], ranks(found)
    strength = _strength(incident, scene, found)
    assert first.phase is not None
    values = {
        "ranks": culprits,
        "count": len(scene.waiters) + len(scene.elsewhere),
        "at_work": len(culprits),
        "waiting": len(scene.waiters),
        "frame": first.frame,
        "code": first.code or first.frame,
        "waiters": ranks(scene.waiters),
    }
    return Finding(
        rule=RULE.code,
        cause=cause,
        strength=strength,
        claim=Message(key=f"SLO201.claim_{first.phase.value}", values=values),
        why=Message(key="SLO201.why", values=values),
        against=_against(scene, first),
        culprits=culprits,
        phase=first.phase,
        explains=frozenset() if strength is Strength.HINTS else _ECHOES,
        call=incident.calls[0] if incident.calls else None,
        evidence=tuple(s.source for s in (*found[:3], scene.waiters[0])),
    )


def _strength(incident: Incident, scene: Scene, found: list[Stance]) -> Strength:
    if len(found) < len(scene.elsewhere) or contradicted(incident, ranks(found)):
        return Strength.HINTS
    known = all(s.certain for s in found) and found[0].phase is not Phase.TEARDOWN
    return Strength.PROVES if scene.alarmed and known and not scene.silent else Strength.SUPPORTS


def _against(scene: Scene, first: Stance) -> Message | None:
    if scene.silent:
        return Message(key="SLO201.against_silent", values={"ranks": scene.silent})
    if not first.certain:
        return Message(key="SLO201.against_by_name", values={"code": first.code})
    return None if scene.alarmed else Message(key="SLO201.against_no_alarm")


RULE = Rule(
    code="SLO201",
    name="rank-at-work-while-others-wait",
    cause=Cause.CHECKPOINT_SLOW,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.STACKS}),
    check=check,
)
