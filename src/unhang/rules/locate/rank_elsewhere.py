"""Stacks show one rank, or a few, outside the wait that all others are in.

## What it finds
Of the processes whose stacks were taken while the job hung, the few that are in no collective, not
in the model's step and not waiting for the GPU: they save, load, sleep, hold a lock, collect
garbage, or run code of the program.

## Why it hangs
A collective completes only when every rank has joined. The rank that is elsewhere is the one that
the others wait for; what it does there is left to the cause rules.

## When it stays quiet
A rank without a stack is never named. Where more ranks are elsewhere than wait, nobody waits for
anybody. Ranks whose own collective failed are on their way out: they waited too. A place where more
than half of the ranks are is not "elsewhere". Where stacks were taken twice and a rank that seems
to wait has moved in between, the job runs.

## How to confirm
Take the stacks again half a minute later: a rank that is stuck is at the same line, a rank that
works has moved.

## What to do
Look at the line of the program that is named.

## References
Arnold et al., "Stack Trace Analysis for Large Scale Debugging" (STAT).
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.finding import Collect
from unhang.model.ids import ManyRanks
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.model.waits import Wait
from unhang.rules.shared.stacks import (
    alarmed,
    contradicted,
    denial,
    find_wait_of_stacks,
    silent,
    states_of,
)


@rule("LOC201", "rank-outside-the-wait", needs={Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that are elsewhere."""
    wait = find_wait_of_stacks(incident)
    if wait is None or not wait.awaited:
        return
    culprits = wait.awaited
    elsewhere, waiting = states_of(incident, culprits), states_of(incident, wait.waiters)
    first = elsewhere[0]
    place = first.code or first.frame
    values = {
        "ranks": culprits,
        "count": len(culprits),
        "place": place,
        "waiters": wait.waiters,
        "waiting": len(wait.waiters),
        "op": waiting[0].op or waiting[0].frame,
    }
    yield check.finding(
        _strength(incident, wait),
        claim=say(
            "LOC201.claim",
            "{ranks:ranks} {count:|is|are} in {place} while {waiters:ranks} {waiting:|waits|wait}.",
            **values,
        ),
        why=say(
            "LOC201.why",
            "Stacks of all these processes were taken: {waiters:ranks} are in {op}, which "
            "completes only when every rank has joined.",
            **values,
        ),
        against=denial(incident, culprits),
        culprits=culprits,
        phase=first.phase,
        call=incident.calls[0] if incident.calls else None,
        evidence=tuple(s.source for s in (*elsewhere[:3], waiting[0])),
        collect=_collect(silent(incident)),
    )


def _strength(incident: Incident, wait: Wait) -> Strength:
    if contradicted(incident, wait.awaited):
        return Strength.HINTS
    return Strength.PROVES if alarmed(wait) and not silent(incident) else Strength.SUPPORTS


def _collect(unseen: ManyRanks) -> tuple[Collect, ...]:
    if not unseen:
        return ()
    values = {"ranks": unseen}
    return (Collect.of("other_stacks", **values),)
