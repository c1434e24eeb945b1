"""What waiting ranks are in, as their counters, stacks and arguments tell it, and how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypedDict

from unhang.live.judge.track import Track
from unhang.live.messages.reports import GroupBeat
from unhang.model.ids import Rank, Ranks
from unhang.model.recording import CallKind
from unhang.model.waits import Variant

_COLLECTIVES = ("all_", "barrier", "broadcast", "gather", "reduce", "scatter")
"""Beginnings of the functions of torch that wait, in the end, in the call they issued last."""
_OF_SEVERAL = "_object"
"""In the names of functions of torch that issue several calls, one after the other."""
_DEFAULT = "default_pg"
"""Description of the group that a call without one means."""
_TWO = 2


def world_of(tracks: Mapping[Rank, Track], size: int | None) -> Ranks:
    """All ranks of the job, as far as they are known."""
    return frozenset(tracks) | {Rank(rank) for rank in range(size or 0)}


def open_calls(track: Track) -> list[GroupBeat]:
    """The groups in which the rank has issued a call that has not completed."""
    return [
        group
        for group in track.beat.groups.values()
        if group.enqueued is not None
        and group.completed is not None
        and group.completed < group.enqueued
    ]


def stood_in(track: Track) -> GroupBeat | None:
    """The group whose collective the main thread itself stands in: it waits in no other.

    Gloo notes what ended last and not the highest number, so that a call may seem open that is not;
    on a GPU the main thread only issues.
    """
    call = track.beat.call
    if call is None or track.beat.device == "cuda" or not call.op.startswith(_COLLECTIVES):
        return None
    opened = open_calls(track)
    told = (g for g in opened if g.name == call.group or (not call.group and g.desc == _DEFAULT))
    return next(told, None)


def waited_s(track: Track) -> float:
    """Observed time for which a waiting rank has waited in its call."""
    return track.still.calls_s if open_calls(track) else track.still.place_s


class _Durations(TypedDict):
    waited_s: float
    settled_s: float


def durations(waiters: Iterable[Track]) -> _Durations:
    """How long the first and the last of some ranks have waited."""
    times = [waited_s(track) for track in waiters]
    return _Durations(waited_s=max(times, default=0.0), settled_s=min(times, default=0.0))


def variants_of(waiters: Ranks, ahead: Ranks, tracks: Mapping[Rank, Track]) -> tuple[Variant, ...]:
    """What the waiters call; ranks further on that still are in the same call belong to them.

    A call of objects is several of tensors. Any other that has the same name under a higher number
    is the one that the waiters should have come to later. A source that is past the call has sent
    what it had to send: who still waits for it meant another source than it did, and nobody who is
    past the call can have had it from there.
    """
    found: dict[str, set[Rank]] = {}
    for rank in sorted(waiters):
        if (op := _op_of(tracks[rank])) is not None:
            found.setdefault(op, set()).add(rank)
    for rank in ahead:
        op = _op_of(tracks[rank])
        if op in found and _OF_SEVERAL in (op or ""):
            found[op].add(rank)
    if len(found) == _TWO:
        one, other = found.values()
        vain = [_waits_for(side & waiters, tracks) & ahead for side in (one, other)]
        if bool(vain[0]) is not bool(vain[1]):
            (other if vain[0] else one).update(ahead - one - other)
    variants = [Variant(kind=CallKind(op), ranks=frozenset(ranks)) for op, ranks in found.items()]
    return tuple(sorted(variants, key=lambda v: (-len(v.ranks), min(v.ranks))))


def _waits_for(receivers: Iterable[Rank], tracks: Mapping[Rank, Track]) -> Ranks:
    """The sources from which ranks have not had what they wait for."""
    calls = (tracks[rank].beat.call for rank in receivers)
    return frozenset(call.src for call in calls if call is not None and call.src is not None)


def limit_s(group: str | None, waiters: Iterable[Track]) -> float | None:
    """How long the program itself would have waited."""
    asked: list[int | None] = []
    for track in waiters:
        told = track.beat.groups.get(group or "")
        asked.append(track.beat.meeting_ms if told is None else told.user_timeout_ms)
    known = [limit_ms / 1_000 for limit_ms in asked if limit_ms is not None]
    return min(known, default=None)


def _op_of(track: Track) -> str | None:
    """The call that a rank waits in, with the source or the target that all must agree on."""
    call, op = track.beat.call, track.place.op
    if call is None or op is None or track.place.pairs:
        return op
    sides = (("src", call.src), ("dst", call.dst))
    named = ", ".join(f"{side}={rank}" for side, rank in sides if rank is not None)
    return f"{op}({named})" if named else op


def common_op(waiters: Iterable[Track]) -> str | None:
    """The call that most of the waiters stand in."""
    return next((op for op, _ in Counter(t.place.op for t in waiters).most_common() if op), None)
