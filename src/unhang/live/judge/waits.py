"""From the calls that are open on each rank to who waits in which call for whom.

A rank waits where its main thread is in a collective, or stands still with a call of its own open;
open calls of a rank that works are in flight, no wait. The call of a group is the first that a
waiting member has not completed. A member lacks it when it has issued fewer; where point-to-point
operations have pulled the numbers apart, when it has no call of the group open and waits nowhere.
On a GPU a call is issued ahead of time, and waits only once the device has begun it. Where no
counters are at hand (before the first call, or with an old torch) the stacks alone tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from unhang.live.judge.track import Track
from unhang.live.messages.actions import CallRef
from unhang.live.messages.reports import GroupBeat
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.stances import Doing

_SETTLED_S = 1.4
"""A rank in native code below the step counts as waiting once it has stood for so long."""

_AWAITED = "wait()"
"""What is waited in where only a handle is seen."""

GroupKey = tuple[str, tuple[Rank, ...] | None]
"""Name and members: names are counters of the process where groups are made locally."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One call, and who waits in it for whom.

    Attributes:
        waiters: members that have issued it and wait.
        ahead: members that have completed it, and wait further on in the same group.
        lacking: members that have not issued it; those that wait elsewhere are among them.
        unknown: members of which nothing is known.
        waited_s: observed time, of the waiter that has waited for the longest.
        settled_s: of the one that came last.
        counted: counters tell it, not stacks alone.
        pairs: a waiter is in a point-to-point operation.
        between: two ranks alone: one waits for the other, by an operation that names it or a lock.
        ops: as the waiters' programs call it, with the ranks that do; where the source is known,
            with it.
    """

    call: CallRef
    waiters: Ranks
    ahead: Ranks = NO_RANKS
    lacking: Ranks = NO_RANKS
    unknown: Ranks = NO_RANKS
    waited_s: float = 0.0
    settled_s: float = 0.0
    counted: bool = True
    pairs: bool = False
    between: bool = False
    ops: Mapping[str, Ranks] = field(default_factory=dict)

    @property
    def held_up(self) -> Ranks:
        """All that wait in the group, here or further on."""
        return self.waiters | self.ahead


def find_waits(tracks: Mapping[Rank, Track], world_size: int | None) -> tuple[Wait, ...]:
    """Return the calls in which somebody waits, those of most waiters first.

    Args:
        tracks: the present process of each rank whose host is heard.
        world_size: ranks of the job, or None.
    """
    groups: dict[GroupKey, dict[Rank, GroupBeat]] = {}
    waiting: set[Rank] = set()
    by_stack: set[Rank] = set()
    outside = _outside(tracks)
    found = [*_between(tracks), *_locked(tracks)]
    alone = NO_RANKS.union(*(wait.waiters for wait in found))
    waiting |= alone
    for rank, track in tracks.items():
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
        if not opened:
            by_stack.add(rank)
        for group in opened:
            groups.setdefault((group.name, group.ranks), {})[rank] = group
        waiting.add(rank)
    counted = (_wait(key, held, tracks, waiting) for key, held in groups.items())
    found += [wait for wait in counted if wait is not None]
    if by_stack:
        found.append(_wait_by_stack(by_stack, tracks, waiting, world_size))
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


def open_calls(track: Track) -> list[GroupBeat]:
    """The groups in which the rank has issued a call that has not completed."""
    return [
        group
        for group in track.beat.groups.values()
        if group.enqueued is not None
        and group.completed is not None
        and group.completed < group.enqueued
    ]


def _wait(
    key: GroupKey,
    held: Mapping[Rank, GroupBeat],
    tracks: Mapping[Rank, Track],
    waiting: set[Rank],
) -> Wait | None:
    name, ranks = key
    front = min(_number(group.completed) + 1 for group in held.values())
    waiters = frozenset(r for r, g in held.items() if _number(g.completed) + 1 == front)
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
            op=_common_op(tracks[r] for r in waiters),
            members=members,
        ),
        waiters=waiters,
        ahead=frozenset(held) - waiters - lacking,
        lacking=frozenset(lacking),
        unknown=frozenset(unknown),
        **_durations(tracks[r] for r in waiters),
        pairs=any(tracks[r].place.pairs for r in waiters),
        ops=_ops(waiters, frozenset(held) - waiters - lacking, tracks),
    )


def _between(tracks: Mapping[Rank, Track]) -> list[Wait]:
    """Ranks that stand in an operation which names the other rank, where that one is elsewhere."""
    found = []
    for rank, track in tracks.items():
        call = track.beat.call
        if call is None or not track.place.pairs or track.ended or track.stopped:
            continue
        peer = call.src if call.op in _RECEIVE else call.dst if call.op in _SEND else None
        other = None if peer is None else tracks.get(peer)
        if track.beats_late or peer is None or other is None or _answers(other, rank, call.op):
            continue
        place_s = track.still.place_s
        found.append(
            Wait(
                call=CallRef(group=call.group, op=call.op, members=frozenset({rank, peer})),
                waiters=frozenset({rank}),
                lacking=frozenset({peer}),
                waited_s=place_s,
                settled_s=place_s,
                between=True,
                ops={call.op: frozenset({rank})},
            )
        )
    return found


_RECEIVE, _SEND = frozenset({"recv"}), frozenset({"send"})


def _answers(other: Track, rank: Rank, op: str) -> bool:
    """Whether the other rank stands in the counterpart: the bytes are on their way."""
    call = other.beat.call
    if call is None or not other.place.pairs or other.ended:
        return False
    if op in _RECEIVE:
        return call.op in _SEND and call.dst == rank
    return call.op in _RECEIVE and call.src in {rank, None}


def _locked(tracks: Mapping[Rank, Track]) -> list[Wait]:
    """Ranks that the kernel keeps until another rank gives back the lock of a file."""
    by_process = {(t.beat.host, t.beat.pid): r for r, t in tracks.items() if not t.ended}
    found = []
    for rank, track in tracks.items():
        holder = by_process.get((track.beat.host, track.facts.lock_holder or -1))
        if holder is None or holder == rank or track.ended or track.stopped:
            continue
        place_s = track.still.place_s
        found.append(
            Wait(
                call=CallRef(op=LOCK, members=frozenset({rank, holder})),
                waiters=frozenset({rank}),
                lacking=frozenset({holder}),
                waited_s=place_s,
                settled_s=place_s,
                between=True,
                ops={LOCK: frozenset({rank})},
            )
        )
    return found


LOCK = "a file lock"
"""What a rank waits in that another rank holds up so."""


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


def _wait_by_stack(
    waiters: Iterable[Rank],
    tracks: Mapping[Rank, Track],
    waiting: set[Rank],
    world_size: int | None,
) -> Wait:
    """Ranks whose stacks show a wait and whose counters show no call: start-up, new groups."""
    held = frozenset(waiters)
    world = frozenset(tracks) | {Rank(r) for r in range(world_size or 0)}
    elsewhere = {r for r, t in tracks.items() if r not in waiting and not _last_waited(t)}
    further = waiting - held
    if not any(tracks[r].beat.groups for r in held):
        # They make their first group, of which the others are members already: they meet nobody.
        further = {r for r in further if not tracks[r].beat.groups}
    return Wait(
        call=CallRef(op=_common_op(tracks[r] for r in held) or _AWAITED, members=world),
        waiters=held,
        # Those that wait in a counted call are no further behind than these; they wait as well.
        lacking=frozenset(elsewhere or further),
        unknown=world - frozenset(tracks),
        **_durations(tracks[r] for r in held),
        counted=False,
        pairs=any(tracks[r].place.pairs or tracks[r].place.handle for r in held),
        ops=_ops(held, NO_RANKS, tracks),
    )


def _outside(tracks: Mapping[Rank, Track]) -> Ranks:
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


def waited_s(track: Track) -> float:
    """Observed time for which a waiting rank has waited in its call."""
    return track.still.calls_s if open_calls(track) else track.still.place_s


class _Durations(TypedDict):
    waited_s: float
    settled_s: float


def _durations(waiters: Iterable[Track]) -> _Durations:
    times = [waited_s(track) for track in waiters]
    return _Durations(waited_s=max(times, default=0.0), settled_s=min(times, default=0.0))


def _members(key: GroupKey, tracks: Mapping[Rank, Track]) -> Ranks:
    """Those that tell of the group, where none of them knows its list."""
    return frozenset(r for r, t in tracks.items() if key[0] in t.beat.groups)


def _number(value: int | None) -> int:
    assert value is not None  # the call is open, so both counters are known
    return value


def _ops(waiters: Ranks, ahead: Ranks, tracks: Mapping[Rank, Track]) -> Mapping[str, Ranks]:
    """What the waiters call; ranks further on that still are in the same call belong to them."""
    found: dict[str, set[Rank]] = {}
    for rank in sorted(waiters):
        if (op := _op_of(tracks[rank])) is not None:
            found.setdefault(op, set()).add(rank)
    for rank in ahead:
        op = _op_of(tracks[rank])
        if op in found:
            found[op].add(rank)
    return {op: frozenset(ranks) for op, ranks in found.items()}


def _op_of(track: Track) -> str | None:
    """The call that a rank waits in, with the source that all must agree on."""
    call, op = track.beat.call, track.place.op
    if call is None or call.src is None or op is None or track.place.pairs:
        return op
    return f"{op}(src={call.src})"


def _common_op(waiters: Iterable[Track]) -> str | None:
    """The call that most of the waiters stand in."""
    return next((op for op, _ in Counter(t.place.op for t in waiters).most_common() if op), None)
