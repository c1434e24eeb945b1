"""Which of some ranks that died in their calls had come to another one than all others.

Gloo ends a process at once where a peer sends more bytes than its call expects, most often one that
is not to blame. What each rank issued last outlives it. Where all others had issued the same call,
of the same size, under the same number, two of these cannot have met in different ones: who had
come to another one was part of it. What ended the process the output tells and not this record,
which by itself holds nothing against anybody.
"""

from __future__ import annotations

from collections.abc import Mapping

from unhang.live.judge.claim import Claim
from unhang.live.judge.echoes import second_hand
from unhang.live.judge.track import Track
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import Rank
from unhang.model.waits import CallRef

_SIGABRT = 6
_TWO = 2


def parted(tracks: Mapping[Rank, Track], world_size: int | None) -> Claim | None:
    """The fewer of two sides, against all others; None where that does not tell them apart.

    Args:
        tracks: the process of each rank in the last start of the job, which has ended.
        world_size: ranks of the job, or None.
    """
    if len(tracks) != world_size or not all(map(_was_in_a_call, tracks.values())):
        return None
    if not any(_was_aborted(track) for track in tracks.values()):
        return None
    sides: dict[tuple[int | None, str | None], set[Rank]] = {}
    for rank, track in tracks.items():
        sides.setdefault((track.facts.last_number, track.facts.last_call), set()).add(rank)
    if len(sides) != _TWO:
        return None
    (_, few), ((_, call), most) = sorted(sides.items(), key=lambda side: len(side[1]))
    if len(few) == len(most) or not call:
        return None
    return Claim(
        charge=SuspicionReason.MISMATCH,
        culprits=frozenset(few),
        victims=frozenset(most),
        call=CallRef(op=call.partition(" ")[0].partition("(")[0], members=frozenset(tracks)),
        waited_s=0.0,
        stage=Stage.WATCHED,
        move=call,
    )


def _was_aborted(track: Track) -> bool:
    return track.facts.signal == _SIGABRT and track.beat.exception is None


def _was_in_a_call(track: Track) -> bool:
    """Whether it ended in one, or because others did, and all its calls were those of all ranks."""
    known = track.ended and track.facts.last_call and (_was_aborted(track) or second_hand(track))
    return bool(known) and all(
        group.ranks is not None and len(group.ranks) == track.beat.world_size
        for group in track.beat.groups.values()
        if group.enqueued
    )
