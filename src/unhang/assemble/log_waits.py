"""From the calls that logs tell of to who waits for whom.

A log tells of those that gave up, and of few others; who left no counter is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unhang.assemble.calls import group_name
from unhang.assemble.log_mismatches import mismatches_of_logs
from unhang.assemble.run import Run
from unhang.model.events import BarrierMissing, DumpSignal, StoreFault, Waiter
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Call, Join
from unhang.model.recording import CallKind
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Snapshot, Variant, Wait, WaitWitness, WitnessKind

_BY_WORDS = frozenset({Waiter.WATCHER, Waiter.RECEIVER})
"""Whose reports are no barriers of a library."""


def waits_of_logs(calls: Sequence[Call], run: Run, known: Ranks = NO_RANKS) -> Snapshot:
    """Return one wait for each call in which somebody gave up, then those of set-up.

    Args:
        calls: with what counters and reports tell of the ranks that did not give up.
        run: the events.
        known: all ranks that anything names.
    """
    signals = run.all(DumpSignal)
    barriers = [e for e in run.all(BarrierMissing) if not e.on_host and e.waiter not in _BY_WORDS]
    stores = [e for e in run.all(StoreFault) if e.owner is not None]
    sides = ([b for b in barriers if b.direct is direct] for direct in (True, False))
    stuck = [_wait(call, calls, signals) for call in calls]
    waits = (
        *stuck,
        *(_barrier(side) for side in sides if side),
        *(_at_store(fault, run) for fault in stores),
    )
    world = NO_RANKS.union(*(wait.waiters | wait.awaited for wait in waits))
    refs = {place: wait.call for place, wait in enumerate(stuck)}
    return Snapshot(
        world=world,
        waits=waits,
        mismatches=tuple(mismatches_of_logs(calls, run, known, refs)),
    )


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
            members=NO_RANKS if call.members is None else call.members,
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


def _barrier(told: Sequence[BarrierMissing]) -> Wait:
    """A monitored barrier: its root names who did not come, and the others name the root."""
    missing = NO_RANKS.union(*(b.missing for b in told))
    waiters = frozenset(b.reporter for b in told if b.reporter is not None) - missing
    limits = [b.timeout_ms / 1_000 for b in told if b.timeout_ms is not None]
    weight = Strength.PROVES if told[0].direct else Strength.HINTS
    return Wait(
        call=CallRef(op="monitored_barrier"),
        waiters=waiters,
        unnamed=0 if waiters else 1,
        awaited=missing,
        limit_s=min(limits, default=None),
        witnesses=(WaitWitness(kind=WitnessKind.LOG, weight=weight, source=told[0].source),),
    )


def _at_store(fault: StoreFault, run: Run) -> Wait:
    """A key of the store that only one rank sets."""
    waiter = fault.waiter if fault.waiter is not None else run.identity.rank_of(fault)
    owner = NO_RANKS if fault.owner is None else frozenset({fault.owner})
    waiters = (NO_RANKS if waiter is None else frozenset({waiter})) - owner
    return Wait(
        call=CallRef(op=fault.key or "store"),
        waiters=waiters,
        unnamed=0 if waiters else 1,
        awaited=owner,
        limit_s=None if fault.timeout_ms is None else fault.timeout_ms / 1_000,
        witnesses=(
            WaitWitness(kind=WitnessKind.LOG, weight=Strength.SUPPORTS, source=fault.source),
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
