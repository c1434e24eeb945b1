"""Stacks show ranks that wait for each other in a circle, each in a call of another group.

## What it finds
Stacks with variables (`py-spy dump --locals`) that name the members of the group, or the peer, of
the call that each rank waits in. Each of these calls lacks a rank that waits in another one, and
three or more calls close a circle in which nobody is free.

## Why it hangs
Ranks that are members of several groups issued the calls of these groups in different orders: each
waits in one group for a rank that waits in the other.

## When it stays quiet
Where a rank on the way stands elsewhere or left no stack: then it holds the others up. Of two calls
alone, which ranks that merely are in different places leave as well.

## How to confirm
Compare the order of the last calls of two of the ranks, in Flight Recorder dumps or in the code.

## What to do
Issue the groups' collectives, and the sends and receives, in one order on every rank.

## References
NCCL user guide, "Using multiple NCCL communicators concurrently".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.model.stack_states import Doing, StackState
from unhang.model.waits import CallRef, Snapshot, Wait
from unhang.rules.shared import consequences
from unhang.rules.shared.stacks import contradicted
from unhang.waitgraph import analyse

_FEWEST_CALLS = 3
_SENDS = ("send", "isend")
_Call = tuple[str | None, Ranks]


@rule(
    "DSY203",
    "stacks-wait-in-a-circle",
    cause=Cause.PG_DEADLOCK,
    needs={Fact.STACKS},
    explains=consequences.OF_RANKS_OUT_OF_STEP | {Cause.DESYNC},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks in the circle."""
    waiting = {
        s.rank: s
        for s in incident.stances
        if s.rank is not None and s.doing is Doing.WAITS and s.needs
    }
    circle = _circle(waiting)
    calls = {_call(waiting[rank]) for rank in circle}
    if len(calls) < _FEWEST_CALLS or any(s.moved for s in incident.stances):
        return
    ordered = sorted(circle)
    yield check.finding(
        Strength.HINTS if contradicted(incident, NO_RANKS) else Strength.SUPPORTS,
        claim=say(
            "DSY203.claim",
            "{ranks:ranks} wait for each other in a circle, in {count} calls of different groups.",
            ranks=circle,
            count=len(calls),
        ),
        why=say(
            "DSY203.why",
            "{rank:ranks} waits in {op} for {others:ranks}, and so on back to it; nobody in the"
            " circle is free.",
            rank=frozenset({ordered[0]}),
            op=waiting[ordered[0]].op or "",
            others=_awaited(waiting[ordered[0]], waiting),
        ),
        evidence=[waiting[rank] for rank in ordered[:4]],
    )


def _circle(waiting: Mapping[Rank, StackState]) -> Ranks:
    """Ranks that await each other in a circle from which nobody leads out."""
    waits = tuple(
        Wait(
            call=CallRef(op=state.op, members=state.group),
            waiters=frozenset({rank}),
            awaited=_awaited(state, waiting),
        )
        for rank, state in waiting.items()
    )
    cycles = analyse(Snapshot(waits=waits)).cycles
    return next((cycle.ranks for cycle in cycles if not cycle.leads_out), NO_RANKS)


def _awaited(state: StackState, waiting: Mapping[Rank, StackState]) -> Ranks:
    """The ranks that its call needs and that are not in it."""
    return frozenset(rank for rank in state.needs if not _joins(waiting.get(rank), state))


def _joins(other: StackState | None, state: StackState) -> bool:
    """Whether another rank is in the same call: in the same group, or at the other end."""
    if other is None:
        return False
    if state.peer is None:
        return other.peer is None and _call(other) == _call(state)
    sends, receives = (_sends(s) for s in (state, other))
    return other.peer == state.rank and sends is not receives


def _sends(state: StackState) -> bool:
    return (state.op or "").lstrip("_").startswith(_SENDS)


def _call(state: StackState) -> _Call:
    """What tells calls apart: the operation and its members."""
    if state.peer is not None and state.rank is not None:
        return None, frozenset({state.rank, state.peer})
    return state.op, state.group
