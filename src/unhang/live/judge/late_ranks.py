"""What is held against single ranks that others wait for.

Each is judged by its own condition: gone, stopped, frozen, asleep, at work, or not seen at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from unhang.live.judge.claim import Claim, is_fresh, lasted_s, limit_s, phase_of
from unhang.live.judge.conditions import judge, stage_at, where_of
from unhang.live.judge.echoes import raised_second_hand
from unhang.live.judge.looking_waits import is_by_looking
from unhang.live.judge.patience import Patience, Stood
from unhang.live.judge.track import Track
from unhang.live.judge.waits import surely_lacks
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.waits import CallRef, Wait, WaitEnd

_WAITED_S = 1.0
"""Nobody is held up by a rank that others have waited for less long."""
_UNSEEN_S, _LATEST_S = 8.0, 60.0
"""Least and most that ranks are waited for which have not been seen yet."""
_MEET_S = 2.0
"""At the start others may come later than they: for so long these have waited, at least."""
_BROKEN_S = 30.0
"""A launcher ends the others before; a link that fails may keep it from doing so."""
_OVERDUE_S = 5.0
"""A rank that is through, after another one has ended well, leaves without a sign for so long."""


def against_rank(
    end: WaitEnd, victims: Ranks, patience: Patience, tracks: Mapping[Rank, Track]
) -> Claim:
    """One that waits for nobody, by its own condition."""
    rank, track = end.rank, tracks[end.rank]
    waited_s = max(lasted_s(wait) for wait in end.lacks)
    verdict = judge(track, patience.usual)
    claim = Claim(
        charge=verdict.charge,
        culprits=frozenset({rank}),
        victims=victims,
        call=end.lacks[0].call,
        phase=verdict.phase,
        still_s=verdict.still_s,
        waited_s=waited_s,
        stage=Stage.WATCHED,
        lives=track.lives(verdict.still_s),
        where=where_of(track),
    )
    if waited_s < _WAITED_S or not is_fresh((rank,), tracks):
        return claim
    if verdict.charge is SuspicionReason.STOPPED and _all_stopped(tracks, victims):
        return claim
    if verdict.proved and any(surely_lacks(wait, track, tracks) for wait in end.lacks):
        return replace(claim, stage=Stage.CONFIRMED)
    if not verdict.suspected:
        return claim
    # Something of it moves yet, as a last save; or the others may look for what no rank leaves.
    saves = verdict.charge is SuspicionReason.RAISED and not track.ended
    if saves or all(is_by_looking(wait) for wait in end.lacks):
        return replace(claim, stage=Stage.SUSPECTED)
    stood = Stood(
        ranks=len(victims) + 1,
        waited_s=waited_s,
        limit_s=limit_s(end.lacks),
        alone=track.alone,
        stirs=track.stirs,
    )
    needed_s = patience.needed_s(stood, *claim.where)
    lifeless_s = min(track.still.lifeless_s, waited_s)
    if track.ended:  # the others may wait for something else, or for what it has left to them
        waiters = NO_RANKS.union(*(wait.waiters for wait in end.lacks)) & tracks.keys()
        lifeless_s = min((tracks[r].still.lifeless_s for r in waiters), default=0.0)
    return replace(
        claim,
        stage=Stage.CONFIRMED if lifeless_s >= needed_s else Stage.SUSPECTED,
        lifeless_s=lifeless_s,
        patience_s=needed_s,
    )


def broken_calls(
    waits: Iterable[Wait], ends: Ranks, tracks: Mapping[Rank, Track]
) -> Iterator[Claim]:
    """Calls that lack only ranks whose own collective failed: nobody's own fault."""
    for wait in waits:
        late = wait.awaited & ends
        if late and all(raised_second_hand(tracks[rank]) for rank in late):
            yield _broken(wait, tracks)


def _broken(wait: Wait, tracks: Mapping[Rank, Track]) -> Claim:
    """A link, or something that nobody saw, broke a call; those that still wait do so for ever."""
    broken_s = min(tracks[r].still.leaving_s for r in wait.awaited if tracks[r].departs)
    still_s = min(broken_s, wait.settled_s or 0.0)
    return Claim(
        charge=SuspicionReason.TOGETHER,
        culprits=NO_RANKS,
        victims=wait.held_up,
        call=wait.call,
        phase=phase_of(wait.held_up, tracks),
        still_s=still_s,
        waited_s=lasted_s(wait),
        stage=stage_at(still_s, _BROKEN_S / 2, _BROKEN_S),
    )


def unseen_ranks(waits: Iterable[Wait], tracks: Mapping[Rank, Track]) -> Iterator[Claim]:
    """Ranks that nobody has seen, or whose host is silent: never more than a suspicion.

    Those that are about to start may take twice as long as the others did until these told their
    ranks: a busy host, or a program that numbers its processes late. For as long as the others have
    been seen without them, nobody need wait.
    """
    for wait in waits:
        if not wait.unknown or wait.awaited:
            continue
        seen = [tracks[rank] for rank in wait.waiters if rank in tracks]
        slowest_s = max((t.came_s for t in seen if t.came_s is not None), default=0.0)
        since_s = max((t.seen_s - t.first_s for t in seen), default=0.0)
        begun = any(track.beat.groups for track in seen)
        waited = lasted_s(wait) >= (_UNSEEN_S if begun else _MEET_S)
        late = waited and since_s >= max(_UNSEEN_S, min(slowest_s, _LATEST_S))
        yield Claim(
            charge=SuspicionReason.NEVER_CAME,
            culprits=frozenset(wait.unknown),
            victims=wait.waiters,
            call=wait.call,
            waited_s=lasted_s(wait),
            stage=Stage.SUSPECTED if late else Stage.WATCHED,
        )


def _all_stopped(tracks: Mapping[Rank, Track], victims: Ranks) -> bool:
    """Whether somebody stopped the whole job, or has just let it go on."""
    return not any(not tracks[r].stopped and tracks[r].looks > 2 for r in victims if r in tracks)


def overdue_ranks(tracks: Mapping[Rank, Track]) -> list[Claim]:
    """Ranks whose program is through, as others' are that have ended: the launcher waits for them.

    What a program registers for its exit may take its time, so this is never more than a suspicion.
    """
    ended = frozenset(rank for rank, track in tracks.items() if track.ended)
    stay = {rank: track for rank, track in tracks.items() if rank not in ended}
    if not ended or any(not track.departs for track in stay.values()):
        return []
    if any(track.failed for track in tracks.values()):
        return []  # the launcher ends the others
    return [
        Claim(
            charge=SuspicionReason.LEFT,
            culprits=frozenset({rank}),
            victims=ended,
            call=CallRef(),
            still_s=_quiet_s(track),
            waited_s=min(track.still.leaving_s, *(tracks[r].still.ended_s for r in ended)),
            stage=Stage.SUSPECTED if _quiet_s(track) >= _OVERDUE_S else Stage.WATCHED,
            lives=track.lives(track.still.whole_s),
            where=where_of(track),
        )
        for rank, track in stay.items()
        if is_fresh((rank,), tracks)
    ]


def _quiet_s(track: Track) -> float:
    """Since when nothing moves of a rank that is through."""
    return min(track.still.whole_s, track.still.leaving_s)
