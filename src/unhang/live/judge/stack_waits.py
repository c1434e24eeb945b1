"""Waits of which stacks alone tell: ranks meet at the start, make a group, or await a handle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unhang.live.judge.track import Track
from unhang.live.judge.wait_details import common_op, durations, limit_s, variants_of, world_of
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Wait, WaitWitness, WitnessKind

_AWAITED = "wait()"
"""What is waited in where only a handle is seen."""
_BY_STACK = (WaitWitness(kind=WitnessKind.STACK, weight=Strength.SUPPORTS),)


def find_stack_waits(
    held: Iterable[Rank],
    tracks: Mapping[Rank, Track],
    waiting: set[Rank],
    world_size: int | None,
) -> list[Wait]:
    """Return the waits of ranks whose counters show no call: at the start, and in new groups.

    Args:
        held: these ranks.
        tracks: the present process of each rank whose host is heard.
        waiting: all ranks that wait.
        world_size: ranks of the job, or None.
    """
    making: dict[tuple[str, tuple[Rank, ...]], set[Rank]] = {}
    others = set(held)
    for rank in held:
        call = tracks[rank].beat.call
        if call is not None and call.group is not None and call.ranks:
            making.setdefault((call.group, tuple(sorted(call.ranks))), set()).add(rank)
            others.discard(rank)
    found = [_make(frozenset(ranks), *key, tracks) for key, ranks in making.items()]
    return [*found, _meet(frozenset(others), tracks, waiting, world_size)] if others else found


def _make(held: Ranks, name: str, members: tuple[Rank, ...], tracks: Mapping[Rank, Track]) -> Wait:
    """Ranks make a group: who is in another one's making will not come to theirs."""
    away = [tracks[r] for r in members if r in tracks and r not in held]
    lacking = (t for t in away if not _has(t, name, members) and not _last_waited(t))
    return Wait(
        call=CallRef(group=name, op=common_op(tracks[r] for r in held), members=frozenset(members)),
        waiters=held,
        awaited=frozenset(t.rank for t in lacking if t.rank is not None),
        unknown=frozenset(members) - frozenset(tracks),
        **durations(tracks[r] for r in held),
        limit_s=limit_s(None, (tracks[r] for r in held)),
        variants=variants_of(held, NO_RANKS, tracks),
        witnesses=_BY_STACK,
    )


def _has(track: Track, name: str, members: tuple[Rank, ...]) -> bool:
    """Whether a rank has made a group already."""
    group = track.beat.groups.get(name)
    return group is not None and (group.ranks is None or set(group.ranks) == set(members))


def _meet(
    held: Ranks, tracks: Mapping[Rank, Track], waiting: set[Rank], world_size: int | None
) -> Wait:
    """Ranks wait for something that does not say for whom, as at a store: all may have to come."""
    world = world_of(tracks, world_size)
    elsewhere = {r for r, t in tracks.items() if r not in waiting and not _last_waited(t)}
    # Who has ended well may have been let go by a smaller job: who is still on its way counts.
    there = {r for r in elsewhere if tracks[r].failed or not tracks[r].ended}
    elsewhere = there or elsewhere
    further = waiting - held
    if not any(tracks[r].beat.groups for r in held):
        # They make their first group, of which the others are members already: they meet nobody.
        further = {r for r in further if not tracks[r].beat.groups}
    return Wait(
        call=CallRef(op=common_op(tracks[r] for r in held) or _AWAITED, members=world),
        waiters=held,
        # Those that wait in a counted call are no further behind than these; they wait as well.
        awaited=frozenset(elsewhere or further),
        unknown=world - frozenset(tracks),
        **durations(tracks[r] for r in held),
        limit_s=limit_s(None, (tracks[r] for r in held)),
        variants=variants_of(held, NO_RANKS, tracks),
        witnesses=_BY_STACK,
    )


def find_outside(tracks: Mapping[Rank, Track]) -> Ranks:
    """Ranks that look for the store in vain: others have found it, and wait for them there.

    Rank 0 may be the host of the store, which waits in the same place until all have come.
    """
    met = any(track.place.meets and not track.place.seeks for track in tracks.values())
    seeking = (rank for rank, track in tracks.items() if track.place.seeks and rank != 0)
    return frozenset(seeking) if met else NO_RANKS


def _last_waited(track: Track) -> bool:
    """A frozen rank that was in a wait when it was heard last."""
    held = track.stopped or track.facts.state == "D"
    return track.beats_late and track.place.waits and not held


def is_pairwise(wait: Wait, tracks: Mapping[Rank, Track]) -> bool:
    """Whether a waiter is in a point-to-point operation, or may be where only stacks tell."""
    places = [tracks[rank].place for rank in wait.waiters]
    by_stack = wait.witnesses == _BY_STACK
    return any(place.pairs or (by_stack and place.handle) for place in places)


def is_by_stack(wait: Wait) -> bool:
    """Whether stacks alone tell of it."""
    return wait.witnesses == _BY_STACK
