"""From where the processes stand to who waits for whom.

A collective that hangs leaves all ranks but the late one in a wait. With NCCL the wait need not be
in the call itself: Python runs ahead of the GPU and stops where it needs a result, so a rank in the
step of the model, at the GPU, or where most ranks stand is no suspect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from unhang.model.ids import ManyRanks, Rank, Ranks
from unhang.model.recording import CallKind
from unhang.model.stack_states import Doing, StackState
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, RankState, Snapshot, Variant, Wait, WaitWitness, WitnessKind

_ELSEWHERE = frozenset(
    {Doing.WORKS, Doing.STORAGE, Doing.LOCKED, Doing.COLLECTS, Doing.CODE},
)

_IMPORTS = "<module>"
"""Where a program stands that is being loaded, or that is not in functions."""

_Place = tuple[str, ...]


def waits_of_stacks(
    stances: Sequence[StackState], expected: ManyRanks, *, alarmed: bool
) -> Snapshot:
    """Return who waits for whom by the stacks; no wait where they do not tell that anybody does.

    Args:
        stances: where each process stood.
        expected: ranks of the job, which should have left a stack.
        alarmed: somebody gave up waiting, so that the stacks are surely those of a hang.
    """
    # Beside ranks there may be launchers, loaders and servers: processes without a number.
    ranked = {s.rank: s for s in stances if s.rank is not None}
    crowd = _crowd(ranked.values())
    elsewhere = {r for r, s in ranked.items() if _is_elsewhere(s) and _place(s) not in crowd}
    waiters = {r: s for r, s in ranked.items() if r not in elsewhere and _may_wait(s, crowd)}
    world = expected | frozenset(ranked)
    waits: tuple[Wait, ...] = ()
    if len(elsewhere) <= len(waiters) and _show_a_wait(waiters.values(), alarmed=alarmed):
        waits = (_wait(waiters, frozenset(elsewhere), world, alarmed=alarmed),)
    return Snapshot(world=world, waits=waits, states=_states(ranked))


def _show_a_wait(waiters: Collection[StackState], *, alarmed: bool) -> bool:
    """Who waits at one place and a moment later at another is in a job that runs."""
    if alarmed:
        return len(waiters) > 0
    if any(s.moved for s in waiters):
        return False
    surely = any(s.doing is Doing.WAITS or (s.idle and s.doing is Doing.STEPS) for s in waiters)
    return surely or len(waiters) > 1


def _wait(
    waiters: dict[Rank, StackState], elsewhere: Ranks, world: ManyRanks, *, alarmed: bool
) -> Wait:
    forms: dict[str, set[Rank]] = {}
    for rank, stance in waiters.items():
        forms.setdefault(stance.op or stance.frame, set()).add(rank)
    variants = [
        Variant(kind=CallKind(op), ranks=frozenset(ranks), source=waiters[min(ranks)].source)
        for op, ranks in forms.items()
    ]
    variants.sort(key=lambda variant: (-len(variant.ranks), min(variant.ranks)))
    return Wait(
        call=CallRef(op=next(iter(waiters.values())).op, members=world),
        variants=tuple(variants),
        waiters=frozenset(waiters),
        awaited=elsewhere,
        unknown=world - frozenset(waiters) - elsewhere,
        witnesses=(
            WaitWitness(
                kind=WitnessKind.STACK,
                weight=Strength.PROVES if alarmed else Strength.SUPPORTS,
                source=next(iter(waiters.values())).source,
            ),
        ),
    )


def _states(ranked: dict[Rank, StackState]) -> tuple[RankState, ...]:
    found: dict[tuple[object, ...], set[Rank]] = {}
    for rank, stance in ranked.items():
        found.setdefault((stance.doing, stance.phase, stance.moved), set()).add(rank)
    return tuple(
        RankState(
            ranks=frozenset(ranks),
            activity=ranked[min(ranks)].doing,
            phase=ranked[min(ranks)].phase,
            moved=True if ranked[min(ranks)].moved else None,
        )
        for ranks in found.values()
    )


def _place(stance: StackState) -> _Place:
    return tuple(step.place for step in stance.path)


def _crowd(stances: Iterable[StackState]) -> frozenset[_Place]:
    """Places where more than half of all processes stand: they do not wait for themselves."""
    places = Counter(_place(s) for s in stances)
    half = sum(places.values()) / 2
    return frozenset(place for place, count in places.items() if count > half and count > 1)


def _is_elsewhere(stance: StackState) -> bool:
    return stance.doing in _ELSEWHERE and (stance.certain or stance.doing is not Doing.CODE)


def _may_wait(stance: StackState, crowd: frozenset[_Place]) -> bool:
    if stance.doing in {Doing.WAITS, Doing.STEPS, Doing.DEVICE}:
        return True
    loading = stance.code.startswith(_IMPORTS)
    return stance.doing in {Doing.CODE, Doing.LOCKED} and not loading and _place(stance) in crowd
