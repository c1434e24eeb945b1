"""Snapshots of one moment by several witnesses, as one; what they tell differently is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import permutations
from operator import or_

from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.strength import Strength
from unhang.model.waits import Contradiction, Snapshot, Variant, Wait, WaitWitness
from unhang.waitgraph.analysis import analyse

_ORDER = (Strength.HINTS, Strength.SUPPORTS, Strength.PROVES)

_CallKey = tuple[str | None, int | None, object]


def merge(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Put together what several witnesses tell of one moment.

    Waits in one call of one group are one wait: who waits by any of them waits, and unknown is only
    of whom none of them tells. A rank that waits by one witness and that others wait for in vain by
    another is a contradiction; the stronger of the two decides, and where neither is, the rank is
    unknown.
    """
    told = [snapshot for snapshot in snapshots if snapshot.waits or snapshot.world]
    if len(told) < 2:
        return told[0] if told else Snapshot()
    contradictions = tuple(_contradictions(told))
    waits: dict[_CallKey, Wait] = {}
    for snapshot in told:
        for wait in snapshot.waits:
            settled = _settled(wait, contradictions)
            key = _key(settled)
            known = waits.get(key)
            waits[key] = settled if known is None else _both(known, settled)
    return Snapshot(
        at=next((s.at for s in told if s.at is not None), None),
        spread_s=max((s.spread_s for s in told if s.spread_s is not None), default=None),
        world=reduce(or_, (s.world for s in told), NO_RANKS),
        waits=tuple(sorted(waits.values(), key=lambda w: (-len(w.waiters), w.call.group or ""))),
        states=tuple(state for s in told for state in s.states),
        mismatches=tuple(mismatch for s in told for mismatch in s.mismatches),
        contradictions=(*(c for s in told for c in s.contradictions), *contradictions),
    )


def _contradictions(snapshots: Sequence[Snapshot]) -> Iterator[Contradiction]:
    ends = [
        {end.rank: end.lacks[0] for end in analyse(snapshot).ends if end.lacks}
        for snapshot in snapshots
    ]
    for one, other in permutations(range(len(snapshots)), 2):
        for wait in snapshots[other].waits:
            both = wait.waiters & ends[one].keys()
            if both and wait.witnesses:
                lacked = ends[one][min(both)]
                yield from (
                    Contradiction(ranks=both, waiting=wait.witnesses[0], elsewhere=witness)
                    for witness in lacked.witnesses[:1]
                )


def _settled(wait: Wait, contradictions: Sequence[Contradiction]) -> Wait:
    """A wait without what a stronger witness denies, and without what nobody can decide."""
    for found in contradictions:
        stands = _weight(found.waiting) - _weight(found.elsewhere)
        if stands >= 0 and found.elsewhere in wait.witnesses and wait.awaited & found.ranks:
            left = wait.awaited & found.ranks
            unknown = wait.unknown | left if stands == 0 else wait.unknown
            wait = replace(wait, awaited=wait.awaited - left, unknown=unknown)
        if stands <= 0 and found.waiting in wait.witnesses and wait.waiters & found.ranks:
            wait = _without(wait, found.ranks)
    return wait


def _without(wait: Wait, ranks: Ranks) -> Wait:
    variants = (replace(v, ranks=v.ranks - ranks) for v in wait.variants)
    return replace(
        wait,
        waiters=wait.waiters - ranks,
        variants=tuple(v for v in variants if v.ranks),
        unknown=wait.unknown | (wait.waiters & ranks),
    )


def _weight(witness: WaitWitness) -> int:
    return _ORDER.index(witness.weight)


def _key(wait: Wait) -> _CallKey:
    """What makes two waits one call; one without a number is told by its operation."""
    call = wait.call
    return call.group, call.seq, call.op if call.seq is None else None


def _both(one: Wait, other: Wait) -> Wait:
    waiters = one.waiters | other.waiters
    ahead = (one.ahead | other.ahead) - waiters
    told = waiters | ahead
    awaited = (one.awaited | other.awaited) - told
    held = (one.held | other.held) - told - awaited
    unnamed = max(
        one.unnamed - len(other.waiters - one.waiters),
        other.unnamed - len(one.waiters - other.waiters),
        0,
    )
    call = one.call
    return replace(
        one,
        call=replace(
            call,
            description=call.description or other.call.description,
            op=call.op or other.call.op,
            members=call.members | other.call.members,
        ),
        variants=_variants(one.variants or other.variants, waiters),
        waiters=waiters,
        unnamed=unnamed,
        ahead=ahead,
        awaited=awaited,
        held=held,
        unknown=(one.unknown | other.unknown) - told - awaited - held,
        waited_s=_most(one.waited_s, other.waited_s),
        settled_s=_most(one.settled_s, other.settled_s),
        limit_s=one.limit_s if one.limit_s is not None else other.limit_s,
        witnesses=tuple(sorted((*one.witnesses, *other.witnesses), key=lambda w: -_weight(w))),
    )


def _variants(variants: tuple[Variant, ...], waiters: Ranks) -> tuple[Variant, ...]:
    return tuple(v for v in variants if v.ranks & waiters)


def _most(one: float | None, other: float | None) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)
