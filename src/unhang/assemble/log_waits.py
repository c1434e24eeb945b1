"""From the calls that logs tell of to who waits for whom.

A log tells of those that gave up, and of few others; who left no counter is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unhang.assemble.calls import group_name
from unhang.model.events import DumpSignal
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Call, Join
from unhang.model.recording import CallKind
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Snapshot, Variant, Wait, WaitWitness, WitnessKind


def waits_of_logs(calls: Sequence[Call], signals: Iterable[DumpSignal]) -> Snapshot:
    """Return one wait for each call in which somebody gave up.

    Args:
        calls: with what counters and reports tell of the ranks that did not give up.
        signals: ranks that dump, some with counters of the world group.
    """
    told = list(signals)
    waits = tuple(_wait(call, calls, told) for call in calls)
    world = NO_RANKS.union(*(wait.waiters | wait.awaited for wait in waits))
    return Snapshot(world=world, waits=waits)


def _wait(call: Call, calls: Sequence[Call], signals: Sequence[DumpSignal]) -> Wait:
    name = group_name(call.group)
    stuck = NO_RANKS.union(*(c.joined for c in calls if group_name(c.group) == name))
    awaited = (call.absent | _behind_by_signal(call, signals)) - stuck
    elapsed = [s.elapsed_ms for s in call.sides if s.elapsed_ms is not None]
    first = call.first
    return Wait(
        call=CallRef(
            group=name,
            description=(call.group.description if call.group is not None else None) or "",
            seq=call.seq,
            op=None if first is None else first.op,
            members=call.members or NO_RANKS,
        ),
        variants=_variants(call.joins.values()),
        waiters=call.joined,
        unnamed=len(call.unnamed),
        awaited=awaited,
        unknown=call.silent - awaited,
        waited_s=max(elapsed) / 1_000 if elapsed else None,
        limit_s=None if call.timeout_ms is None else call.timeout_ms / 1_000,
        witnesses=(
            WaitWitness(
                kind=WitnessKind.LOG,
                weight=Strength.PROVES if awaited else Strength.SUPPORTS,
                source=None if first is None else first.source,
            ),
        ),
    )


def _behind_by_signal(call: Call, signals: Sequence[DumpSignal]) -> Ranks:
    """Ranks of the world group whose last issued work lies below the call."""
    if call.group is None or not call.group.is_default or call.seq is None:
        return NO_RANKS
    return frozenset(
        s.origin.rank
        for s in signals
        if s.origin.rank is not None
        and s.group is not None
        and s.group.is_default
        and s.enqueued is not None
        and 0 <= s.enqueued < call.seq
    )


def _variants(joins: Iterable[Join]) -> tuple[Variant, ...]:
    """The forms in which ranks say that they issued the call, as far as they tell."""
    found: dict[CallKind, list[Join]] = {}
    for join in joins:
        if join.op is not None:
            inputs = () if join.numel_in is None else (join.numel_in,)
            outputs = () if join.numel_out is None else (join.numel_out,)
            found.setdefault(CallKind(join.op, inputs, outputs), []).append(join)
    variants = [
        Variant(kind=kind, ranks=frozenset(j.rank for j in sides), source=sides[0].source)
        for kind, sides in found.items()
    ]
    return tuple(sorted(variants, key=lambda v: (-len(v.ranks), min(v.ranks))))
