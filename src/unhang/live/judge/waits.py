"""From the calls that are open on each rank to who waits in which call for whom.

A rank waits where its main thread is in a collective, or stands still with a call of its own open;
open calls of a rank that works are in flight, no wait. The call of a group is the first that a
waiting member has not completed. A member lacks it when it has issued fewer; where point-to-point
operations have pulled the numbers apart, when it has no call of the group open and waits nowhere,
or stands in such an operation.
On a GPU a call is issued ahead of time, and waits only once the device has begun it. Where no
counters are at hand (before the first call, or with an old torch) the stacks alone tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from unhang.live.judge.beat_stacks import MEETING
from unhang.live.judge.looking_waits import find_looking, is_by_looking, looks
from unhang.live.judge.named_waits import find_named_waits, may_name, names_a_rank
from unhang.live.judge.stack_waits import find_outside, find_stack_waits, is_by_stack
from unhang.live.judge.track import Track
from unhang.live.judge.wait_details import (
    common_op,
    durations,
    limit_s,
    open_calls,
    stood_in,
    variants_of,
    world_of,
)
from unhang.live.messages.reports import GroupBeat
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing
from unhang.model.strength import Strength
from unhang.model.time import Clock, Instant
from unhang.model.waits import (
    CallRef,
    Life,
    RankState,
    Snapshot,
    Wait,
    WaitWitness,
    WitnessKind,
)

_SETTLED_S = 1.4
"""A rank in native code below the step counts as waiting once it has stood for so long."""
_COUNTED = (WaitWitness(kind=WitnessKind.REPORT, weight=Strength.PROVES),)
"""Counters tell of a wait."""

_State = tuple[Life, Doing | None, Phase | None]
GroupKey = tuple[str, tuple[Rank, ...] | None]
"""Name and members: names are counters of the process where groups are made locally."""


def take_snapshot(
    tracks: Mapping[Rank, Track], world_size: int | None, wall_s: float | None = None
) -> Snapshot:
    """Return who waits in which call for whom, and what the ranks do beside.

    Args:
        tracks: the present process of each rank whose host is heard.
        world_size: ranks of the job, or None.
        wall_s: epoch of the last report, or None.
    """
    waits = find_waits(tracks, world_size)
    at = None if wall_s is None else Instant(seconds=wall_s, clock=Clock.UTC, resolution_s=0.001)
    return Snapshot(
        at=at, world=world_of(tracks, world_size), waits=waits, states=_states(tracks, waits)
    )


def _states(tracks: Mapping[Rank, Track], waits: Sequence[Wait]) -> tuple[RankState, ...]:
    """What the ranks that wait in none of the calls do, those that do the same as one."""
    waiting = NO_RANKS.union(*(wait.held_up for wait in waits))
    found: dict[_State, list[Rank]] = {}
    same: dict[int, list[Rank]] = {}
    """By identity: there are few states, and thousands of ranks."""
    for rank, track in tracks.items():
        if rank in waiting:
            continue
        state = _glance(track).state
        ranks = same.get(id(state))
        if ranks is None:
            ranks = same[id(state)] = found.setdefault(state, [])
        ranks.append(rank)
    return tuple(
        RankState(
            ranks=frozenset(ranks),
            activity=doing,
            phase=phase,
            life=life,
            since_s=round(max(tracks[rank].still.whole_s for rank in ranks), 3),
            moved=any(tracks[rank].still.whole_s == 0 for rank in ranks),
        )
        for (life, doing, phase), ranks in found.items()
    )


class _Glance(NamedTuple):
    """What a rank shows by itself; asked more often than it reports.

    Attributes:
        stands: a wait may begin with it.
        state: what it does, if it waits in none.
    """

    stands: bool
    state: _State


def _glance(track: Track) -> _Glance:
    if isinstance(track.glance, _Glance):
        return track.glance
    stands = (
        is_waiting(track)
        or may_name(track)
        or track.place.meets
        or track.place.seeks
        or looks(track)
    )
    doing = None if track.place.waits or track.ended else track.place.doing
    found = _Glance(stands, _state(_life(track), doing, track.place.phase))
    track.glance = found
    return found


@cache
def _state(life: Life, doing: Doing | None, phase: Phase | None) -> _State:
    """One object for each."""
    return life, doing, phase


def _life(track: Track) -> Life:
    if track.ended:
        return Life.GONE if track.failed else Life.LEFT
    if track.beat.exception is not None or track.beat.state == "raising":
        return Life.RAISED
    if track.stopped:
        return Life.STOPPED
    return Life.FROZEN if track.beats_late else Life.ALIVE


def find_waits(tracks: Mapping[Rank, Track], world_size: int | None) -> tuple[Wait, ...]:
    """Return the calls in which somebody waits, those of most waiters first.

    Args:
        tracks: the present process of each rank whose host is heard.
        world_size: ranks of the job, or None.
    """
    groups: dict[GroupKey, dict[Rank, GroupBeat]] = {}
    same: dict[tuple[str, int], dict[Rank, GroupBeat]] = {}
    """By the identity of the members: to hash them for each of them takes the square of them."""
    waiting: set[Rank] = set()
    by_stack: set[Rank] = set()
    standing = {rank: track for rank, track in tracks.items() if _glance(track).stands}
    outside = find_outside(standing)
    found = find_named_waits(standing, tracks)
    alone = NO_RANKS.union(*(wait.waiters for wait in found))
    waiting |= alone
    past = cache(lambda key: _past(key, tracks))
    for rank, track in standing.items():
        if (
            rank in alone
            or track.ended
            or track.stopped
            or track.beats_late
            or not is_waiting(track)
        ):
            continue  # what a frozen rank told last is too old to say that it waits
        if rank in outside:
            continue
        opened = open_calls(track)
        if track.place.handle and all(_number(g.enqueued) <= past(_key(g)) for g in opened):
            opened = []  # it waits for something else
        if not opened:
            by_stack.add(rank)
        within = stood_in(track)
        for group in opened if within is None else [within]:
            held = same.get((group.name, id(group.ranks)))
            if held is None:
                held = groups.setdefault(_key(group), {})
                same[group.name, id(group.ranks)] = held
            held[rank] = group
        waiting.add(rank)
    nowhere_else = waiting - alone
    counted = (_wait(key, held, tracks, nowhere_else, past(key)) for key, held in groups.items())
    found += [wait for wait in counted if wait is not None]
    found += find_stack_waits(by_stack, tracks, waiting, world_size)
    found = found or find_looking(standing, tracks)
    return tuple(sorted(found, key=lambda w: (-len(w.waiters), w.call.group or "")))


def is_waiting(track: Track) -> bool:
    """Whether a living rank waits for others, as far as its stack and its calls tell."""
    opened = open_calls(track)
    if not opened:
        # No call is issued yet: it meets others at a store, or still packs what it will send.
        still = track.still.whole_s >= _SETTLED_S
        return track.place.waits and still and not track.place.leaves
    if track.place.waits:
        return True
    if track.place.doing in {Doing.STEPS, Doing.DEVICE}:
        return track.still.calls_s >= _SETTLED_S and track.still.place_s >= _SETTLED_S
    # `work.wait()` in the program's own code looks like any other line of it, where Python does not
    # tell which method is called; the main thread may also wait for the thread that trains.
    if track.place.own and track.beat.calling is not None and track.beat.device != "cuda":
        return False
    return track.place.doing in {Doing.CODE, Doing.LOCKED} and track.still.whole_s >= _SETTLED_S


def _key(group: GroupBeat) -> GroupKey:
    return group.name, group.ranks


def _past(key: GroupKey, tracks: Mapping[Rank, Track]) -> int:
    """The last call of a group that all members have issued and one has seen the end of; or -1.

    It is over for all, though gloo, which notes what ended last and not the highest number, may
    show it as open for ever. On a GPU the numbers are those of the device, in their order.
    """
    name, ranks = key
    members = [tracks.get(r) for r in (_members(key, tracks) if ranks is None else ranks)]
    told = [None if t is None else t.beat.groups.get(name) for t in members]
    issued = [-1 if g is None or g.enqueued is None else g.enqueued for g in told]
    ended = [-1 if g is None or g.completed is None else g.completed for g in told]
    if any(t is not None and t.beat.device == "cuda" for t in members):
        return -1
    return min(min(issued, default=-1), max(ended, default=-1))


def _first_open(group: GroupBeat, track: Track, past: int) -> int:
    """The call of a group that a rank waits in: the last one, if its main thread stands in it."""
    if stood_in(track) is group:
        return _number(group.enqueued)
    return min(_number(group.enqueued), max(_number(group.completed), past) + 1)


def _wait(
    key: GroupKey,
    held: Mapping[Rank, GroupBeat],
    tracks: Mapping[Rank, Track],
    waiting: set[Rank],
    past: int,
) -> Wait | None:
    name, ranks = key
    at = {r: _first_open(g, tracks[r], past) for r, g in held.items()}
    front = min(at.values())
    waiters = frozenset(r for r, number in at.items() if number == front)
    if all(_computes(held[r], front) for r in waiters):
        return None
    computing = {r for r in waiters if _computes(held[r], front)}
    waiters -= computing
    members = frozenset(ranks) if ranks is not None else _members(key, tracks)
    lacking, idle, unknown = computing, set[Rank](), set[Rank]()
    for member in members - waiters - computing:
        track = tracks.get(member)
        if track is None:
            unknown.add(member)
            continue
        group = track.beat.groups.get(name)
        issued = -1 if group is None or group.enqueued is None else group.enqueued
        if issued < front or track.ended:
            lacking.add(member)
        elif _holds_back(track, opened=member in held, waiting=member in waiting):
            idle.add(member)
    lacking = lacking or idle
    return Wait(
        call=CallRef(
            group=name,
            description=next(iter(held.values())).desc,
            seq=front,
            op=common_op(tracks[r] for r in waiters),
            members=members,
        ),
        waiters=waiters,
        ahead=frozenset(held) - waiters - lacking,
        awaited=frozenset(lacking),
        unknown=frozenset(unknown),
        **durations(tracks[r] for r in waiters),
        limit_s=limit_s(name, (tracks[r] for r in waiters)),
        variants=variants_of(waiters, frozenset(held) - waiters - lacking, tracks),
        witnesses=_COUNTED,
    )


def _holds_back(track: Track, *, opened: bool, waiting: bool) -> bool:
    """Whether a member that has issued the call may be what the others wait for all the same."""
    if track.stopped or track.facts.state == "D":
        return True
    if track.beats_late:
        return False  # it was in the call when it was heard last
    return not opened and not waiting


def _computes(group: GroupBeat, front: int) -> bool:
    """The GPU has not come to the call yet: what it waits in is the rank's own work."""
    return group.started is not None and 0 <= group.started < front


def surely_lacks(wait: Wait, track: Track, tracks: Mapping[Rank, Track]) -> bool:
    """Whether a call needs a rank that does no more, and has not had its part.

    Where stacks alone tell of a call, its members are those of any group of the waiters; what they
    wait for by a handle, or at a store, may be the business of a smaller job that goes on.
    """
    rank = track.rank
    if rank not in wait.awaited or is_by_looking(wait):
        return False
    if is_by_stack(wait):
        if wait.call.group is not None:
            return True  # it is a member of a group that is being made
        if wait.call.op == MEETING and not track.beat.groups:
            return track.failed  # the first meeting of all needs everybody
        waiters = [tracks[r] for r in wait.waiters if r in tracks]
        known = [group.ranks for t in waiters for group in t.beat.groups.values()]
        alike = all(ranks is not None and rank in ranks for ranks in known)
        return bool(known) and alike and not any(t.place.handle for t in waiters)
    group = track.beat.groups.get(wait.call.group or "")
    if group is None or group.enqueued is None or wait.call.seq is None:
        return not track.beat.groups or names_a_rank(wait)
    # Who fails in the middle of a call leaves it undone; who ended well had done its part.
    done = group.completed if track.failed else group.enqueued
    return done is not None and done < wait.call.seq


def _members(key: GroupKey, tracks: Mapping[Rank, Track]) -> Ranks:
    """Those that tell of the group, where none of them knows its list."""
    return frozenset(r for r, t in tracks.items() if key[0] in t.beat.groups)


def _number(value: int | None) -> int:
    assert value is not None  # the call is open, so both counters are known
    return value
