"""From what is remembered of a rank that others wait for to its condition.

Some conditions prove by themselves that the others wait in vain: the rank is gone, it raised, it
ended its program. All others may be work that nobody sees, and who stopped a process may let it go
on: they are suspected within seconds, and how long they may last is for `patience` to say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from unhang.live.judge.echoes import raised_second_hand
from unhang.live.judge.track import Track, function_of
from unhang.live.judge.usual_durations import DurationKind, UsualDurations
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.phases import Phase

_ENDED_S = 1.0
_FINISHED_S = 2.0
_FOLLOWED_S = 6.0
"""A rank that was told to end is most often one of all of them; one that was aborted in a call met
what another one did (gloo, and the watchdog of NCCL, end a process so)."""
_LEAVING_S = (1.0, 6.0)
"""Python takes its time to end; its launcher, which waits for that, may do the rest."""
_RESCUE_S = 600.0
"""Most that a rank which has raised is left alone while something of it moves."""
_STOPPED_S = 1.5
_STILL_S = 3.0
_SUSPECT_S = 3.0
_DECLARED_S = 60.0
"""The same in a phase that the program has declared: that it stands still there is no news."""
_USUAL = 1.5
"""What stands so many times as long as is usual there is worth a word."""
_ELSEWHERE_S = 5.0
"""A job that has stood still elsewhere, and went on by itself, gets as long as that, at most."""
_LOOPS_S = 7.0
_LIBRARY_LOOPS_S = 120.0
"""Computing in the same functions, of the program or of a library's known work (or of child
processes) alone: it may never end."""
_BEGUN = 32
"""So many calls are those of steps, where no step is counted."""
_SIGABRT, _SIGTERM = 6, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCondition:
    """The condition of one rank.

    Attributes:
        still_s: how long it has been observed, or None for a rank at work.
        suspected: it is worth a word.
        proved: it has lasted so long that the others wait in vain.
        phase: of its work.
    """

    charge: SuspicionReason
    still_s: float | None = None
    suspected: bool = False
    proved: bool = False
    phase: Phase | None = None


def judge(track: Track, usual: UsualDurations) -> RankCondition:
    """The condition of a rank that others wait for, by what is usual in its job."""
    if track.departs:
        return departed(track)
    if track.facts.state == "t":  # somebody looks into it with a debugger
        return _seen(track, SuspicionReason.STOPPED, track.still.stopped_s, _SUSPECT_S)
    if track.stopped:
        return _seen(track, SuspicionReason.STOPPED, track.still.stopped_s, _STOPPED_S)
    elsewhere_s = min(usual.usual_s(DurationKind.STILL, None), _ELSEWHERE_S)
    usual_s = max(_USUAL * usual.usual_s(DurationKind.STILL, *where_of(track)), elsewhere_s)
    if track.beats_late:
        return _seen(track, _frozen(track), track.still.beat_s, max(_SUSPECT_S, usual_s))
    if track.place.leaves:
        return _seen(track, SuspicionReason.LEFT, track.still.place_s, _STILL_S)
    if track.still.whole_s >= _STILL_S:
        pauses = track.place.declared and track.place.phase is not Phase.TRAIN
        least_s = _DECLARED_S if pauses else _SUSPECT_S
        return _seen(track, SuspicionReason.ASLEEP, track.still.whole_s, max(least_s, usual_s))
    late_s = 3 * usual.usual_s(DurationKind.LATE, *where_of(track))
    known = track.delegates or (track.place.certain and not track.place.calls_back)
    least_s = _LIBRARY_LOOPS_S if known else _LOOPS_S
    if track.still.function_s >= max(least_s, late_s):
        return _seen(track, SuspicionReason.SPINNING, track.still.function_s, 0.0)
    return RankCondition(charge=SuspicionReason.AT_WORK, phase=track.place.phase)


def has_begun(track: Track) -> bool:
    """Whether a rank is past what its program does once, before its steps."""
    issued = sum(group.enqueued or 0 for group in track.beat.groups.values())
    return bool(track.beat.steps) or issued >= _BEGUN


def where_of(track: Track) -> tuple[Phase | str, ...]:
    """What the habits of a rank are told apart by: its place, and its phase if there is one."""
    place, phase = function_of(track.place.place), track.place.phase
    return (place,) if phase is None else (place, phase)


def stage_at(lasted_s: float, suspect_s: float, confirm_s: float) -> Stage:
    """How far an observed time carries a charge."""
    if lasted_s >= confirm_s:
        return Stage.CONFIRMED
    return Stage.SUSPECTED if lasted_s >= suspect_s else Stage.WATCHED


def _seen(
    track: Track,
    charge: SuspicionReason,
    lasted_s: float,
    suspect_s: float,
    proved_s: float = math.inf,
) -> RankCondition:
    return RankCondition(
        charge=charge,
        still_s=lasted_s,
        suspected=lasted_s >= suspect_s,
        proved=lasted_s >= proved_s,
        phase=track.place.phase,
    )


def departed(track: Track) -> RankCondition:
    """A rank that ended, or is about to."""
    raised = track.beat.exception is not None or track.beat.state == "raising"
    charge = (
        SuspicionReason.RAISED
        if raised
        else SuspicionReason.GONE
        if track.failed
        else SuspicionReason.LEFT
    )
    if raised_second_hand(track):
        # A link, or another rank, broke its collective: the others may wait for the same reason.
        return _seen(track, charge, track.still.leaving_s, math.inf)
    if not track.ended:
        # A main thread that ended without a fault may have left its work to other threads.
        suspect_s, proved_s = _LEAVING_S
        # What catches the exception may save what there is to save.
        quiet = track.still.lifeless_s >= proved_s or track.still.leaving_s >= _RESCUE_S
        proved_s = proved_s if raised and quiet else math.inf
        return _seen(track, charge, track.still.leaving_s, suspect_s, proved_s)
    if track.facts.signal in {_SIGABRT, _SIGTERM}:
        return _seen(track, charge, track.still.ended_s, _FOLLOWED_S, _FOLLOWED_S)
    limit_s = _FINISHED_S if charge is SuspicionReason.LEFT else _ENDED_S
    return _seen(track, charge, track.still.ended_s, 0.0, limit_s)


def _frozen(track: Track) -> SuspicionReason:
    """Why a probe does not beat, though its process lives and runs."""
    if track.facts.state == "D":
        return SuspicionReason.UNINTERRUPTIBLE
    known = track.facts.state is not None or track.cpu_share is not None
    return SuspicionReason.GIL_KEPT if known else SuspicionReason.SILENT
