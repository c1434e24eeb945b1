"""Waits that name the other rank: point-to-point operations, and locks of files."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.live.judge.track import Track
from unhang.live.messages.reports import Issued
from unhang.model.ids import Rank
from unhang.model.recording import CallKind
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Variant, Wait, WaitWitness, WitnessKind

LOCK = "a file lock"
"""What a rank waits in that another rank holds up so."""

_NAMED = (WaitWitness(kind=WitnessKind.REPORT, weight=Strength.SUPPORTS),)
_RECEIVE, _SEND = frozenset({"recv"}), frozenset({"send"})


def find_named_waits(standing: Mapping[Rank, Track], tracks: Mapping[Rank, Track]) -> list[Wait]:
    """Return the waits of single ranks for single ranks, and of two for the bytes between them.

    Args:
        standing: the ranks with which a wait may begin.
        tracks: the present process of each rank whose host is heard.
    """
    return [*_between(standing, tracks), *_locked(standing, tracks)]


def may_name(track: Track) -> bool:
    """Whether a rank stands where the other rank of a wait is named."""
    return track.place.pairs or track.facts.lock_holder is not None


def names_a_rank(wait: Wait) -> bool:
    """Whether the waiter's own operation, or a lock, names the rank that it waits for."""
    return wait.witnesses == _NAMED


def _between(standing: Mapping[Rank, Track], tracks: Mapping[Rank, Track]) -> list[Wait]:
    """Ranks that stand in an operation which names the other rank, wherever that one is."""
    found: list[Wait] = []
    told: set[Rank] = set()
    for rank, track in standing.items():
        call = track.beat.call
        if call is None or not track.place.pairs or track.ended or track.stopped:
            continue
        peer = call.src if call.op in _RECEIVE else call.dst if call.op in _SEND else None
        other = None if peer is None else tracks.get(peer)
        if track.beats_late or peer is None or other is None:
            continue
        ref = CallRef(group=call.group, op=call.op, members=frozenset({rank, peer}))
        if not _answers(other, rank, call):
            told.add(rank)
            found.append(_for_one(rank, peer, ref, track.still.place_s))
        elif rank not in told:
            told |= {rank, peer}
            place_s = min(track.still.place_s, other.still.place_s)
            both = frozenset({rank, peer})
            found.append(
                Wait(call=ref, waiters=both, waited_s=place_s, settled_s=place_s, witnesses=_NAMED)
            )
    return found


def _answers(other: Track, rank: Rank, asked: Issued) -> bool:
    """Whether the other rank stands in the counterpart: the bytes are on their way."""
    call = other.beat.call
    if call is None or not other.place.pairs or other.ended:
        return False
    if call.tag is not None and asked.tag is not None and call.tag != asked.tag:
        return False
    if asked.op in _RECEIVE:
        return call.op in _SEND and call.dst == rank
    return call.op in _RECEIVE and call.src in {rank, None}


def _locked(standing: Mapping[Rank, Track], tracks: Mapping[Rank, Track]) -> list[Wait]:
    """Ranks that the kernel keeps until another rank gives back the lock of a file."""
    if all(track.facts.lock_holder is None for track in standing.values()):
        return []
    by_process = {(t.beat.host, t.beat.pid): r for r, t in tracks.items() if not t.ended}
    found = []
    for rank, track in standing.items():
        holder = by_process.get((track.beat.host, track.facts.lock_holder or -1))
        if holder is None or holder == rank or track.ended or track.stopped:
            continue
        ref = CallRef(op=LOCK, members=frozenset({rank, holder}))
        found.append(_for_one(rank, holder, ref, track.still.place_s))
    return found


def _for_one(rank: Rank, other: Rank, call: CallRef, place_s: float) -> Wait:
    """One rank waits for another one."""
    return Wait(
        call=call,
        waiters=frozenset({rank}),
        awaited=frozenset({other}),
        waited_s=place_s,
        settled_s=place_s,
        variants=(Variant(kind=CallKind(call.op or ""), ranks=frozenset({rank})),),
        witnesses=_NAMED,
    )
