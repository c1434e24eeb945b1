"""Waits that no call shows: ranks look, in loops of their own, for what another rank is to leave.

A key of a store, a file, a flag of a server: such a rank sleeps in between, and its main thread
wakes up again and again in the same functions. It may as well wait for something outside of the
job: this is asked only where nobody waits in a call, and is never more than a suspicion.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from unhang.live.judge.conditions import has_begun
from unhang.live.judge.track import Track, function_of
from unhang.model.ids import Rank
from unhang.model.stack_states import Doing
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Wait, WaitWitness, WitnessKind

_LOOKS_S = 3.0
_MOSTLY_SLEEPS = 0.25
"""Of one core: who looks more often does little else, and who computes does not look."""
_STILL_S = 3.0
_LOOKING = (WaitWitness(kind=WitnessKind.STACK, weight=Strength.HINTS),)


def is_by_looking(wait: Wait) -> bool:
    """Whether only a loop of the program tells of it."""
    return wait.witnesses == _LOOKING


def find_looking(standing: Mapping[Rank, Track], tracks: Mapping[Rank, Track]) -> list[Wait]:
    """Return at most one wait: for those that have ended or stand still, or for no more at work.

    Args:
        standing: those of them with which a wait may begin.
        tracks: the present process of each rank whose host is heard, none of which waits in a call.
    """
    looking = frozenset(rank for rank, track in standing.items() if looks(track))
    if not looking:
        return []
    loops = {function_of(tracks[rank].place.place) for rank in looking}
    others = {r: t for r, t in tracks.items() if r not in looking and not _gave_up(t, loops)}
    alive = {rank for rank, track in others.items() if not track.ended}
    moving = {rank for rank in alive if not _stands(others[rank])}
    if not others or (moving and len(moving) > len(looking)):
        return []
    if alive and not all(has_begun(track) for track in tracks.values()):
        return []  # before the first step some serve others, and are no part of what these prepare
    # Who has ended well may have had nothing more to do: who is still on its way counts.
    awaited = moving or {r for r in others if r in alive or others[r].failed} or set(others)
    times = [_since_s(tracks[rank]) for rank in looking]
    return [
        Wait(
            call=CallRef(op=tracks[min(looking)].place.place, members=frozenset(tracks)),
            waiters=looking,
            awaited=frozenset(awaited),
            waited_s=max(times),
            settled_s=min(times),
            witnesses=_LOOKING,
        )
    ]


def looks(track: Track) -> bool:
    """Whether a rank that sleeps in its own code has woken up there, and got no further."""
    if track.departs or track.stopped or track.beats_late or not track.beat.groups:
        return False
    since_s = _since_s(track)
    stays = since_s >= _LOOKS_S and (track.cpu_share or 0.0) < _MOSTLY_SLEEPS
    at = track.place
    loops = at.looks and at.place != "" and at.doing in {Doing.CODE, Doing.WORKS}
    return stays and loops and "switches" in track.lives(since_s)


def _since_s(track: Track) -> float:
    """For how long it has done no step and issued no call, whatever else it read or wrote."""
    if track.progress_s is None:
        return track.still.function_s
    return max(0.0, track.beat.mono_s - track.progress_s)


def _gave_up(track: Track, loops: Collection[str]) -> bool:
    """Whether a rank has raised where the others still look: it looked as well."""
    return track.beat.exception is not None and function_of(track.place.place) in loops


def _stands(track: Track) -> bool:
    return track.stopped or track.beats_late or track.still.whole_s >= _STILL_S
