"""From what is remembered of a rank that others wait for to its condition, and how grave that is.

Gone, leaving, stopped, frozen, asleep, or at work: each has the time for which it must have been
observed before it is suspected, and before it is a hang.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from unhang.live.judge.echoes import raised_second_hand
from unhang.live.judge.pace import Habit, Pace
from unhang.live.judge.track import Track
from unhang.live.messages.reports import ProcessFacts
from unhang.live.messages.standing import Charge, Stage
from unhang.model.phases import Phase
from unhang.model.stances import Doing

_ENDED_S = 1.0
_FINISHED_S = 2.0
_SENT_AWAY_S = 6.0
"""A rank that was told to end is most often one of all of them."""
_LEAVING_S = (1.0, 6.0)
"""Python takes its time to end; its launcher, which waits for that, may do the rest."""
_STOPPED_S = 1.5
_STILL_S = 3.0
_SUSPECT_S = 4.0
_SPINNING_S = 20.0
_FOR_OTHERS = 20.0
"""How much less a standstill means of a rank that waits for a server, another program or a child of
its own, or looks again and again whether they are done: then it means what it does in an
evaluation."""
_START_UP = 5.0
"""How much less a standstill means before the first call: files, downloads and imports."""
_SIGTERM = 15
_FOR_ANOTHER = re.compile(
    r"wait_woken|sk_|inet_|tcp_|unix_|(__)?skb_|(anon_|fifo_)?pipe_|wait_for_partner|n_tty_|do_wait"
    r"|(locks|flock|posix)_lock_|poll_schedule|do_(sys_)?poll|do_select|ep_poll|do_epoll"
)
"""Where the kernel keeps a thread that waits for a socket, a pipe, a child or a lock of a file; one
that waits for storage is in state D."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The condition of one rank.

    Attributes:
        still_s: how long it has been observed, or None for a rank at work.
        stage: how far that carries the charge.
        phase: of its work.
    """

    charge: Charge
    still_s: float | None = None
    stage: Stage = Stage.WATCHED
    phase: Phase | None = None


def judge(track: Track, pace: Pace) -> Verdict:
    """The condition of a rank that others wait for, by what is usual in its job."""
    if track.departs:
        return _departed(track)
    if track.stopped:
        return _lasting(track, Charge.STOPPED, track.still.stopped_s, 0.0, _STOPPED_S)
    if track.beats_late:
        return _frozen(track, pace)
    if track.place.leaves:
        limit_s = pace.limit_s(Habit.STILL, Phase.TEARDOWN)
        return _lasting(track, Charge.LEFT, track.still.place_s, _STILL_S, limit_s)
    if track.still.whole_s >= _STILL_S:
        return _asleep(track, pace)
    if track.place.phase is None and track.place.own and track.still.line_s >= _SPINNING_S:
        # Never more than a suspicion: a long native call of the program looks the same.
        return Verdict(charge=Charge.SPINNING, still_s=track.still.line_s, stage=Stage.SUSPECTED)
    return Verdict(charge=Charge.AT_WORK, phase=track.place.phase)


def stage_at(lasted_s: float, suspect_s: float, confirm_s: float) -> Stage:
    """How far an observed time carries a charge."""
    if lasted_s >= confirm_s:
        return Stage.CONFIRMED
    return Stage.SUSPECTED if lasted_s >= suspect_s else Stage.WATCHED


def _lasting(
    track: Track, charge: Charge, lasted_s: float, suspect_s: float, confirm_s: float
) -> Verdict:
    stage = stage_at(lasted_s, suspect_s, confirm_s)
    return Verdict(charge=charge, still_s=lasted_s, stage=stage, phase=track.place.phase)


def _departed(track: Track) -> Verdict:
    """A rank that ended, or is about to."""
    raised = track.beat.exception is not None or track.beat.state == "raising"
    charge = Charge.RAISED if raised else Charge.GONE if track.failed else Charge.LEFT
    if raised_second_hand(track):
        # A link, or another rank, broke its collective: the others may wait for the same reason.
        return _lasting(track, charge, track.still.leaving_s, math.inf, math.inf)
    if not track.ended:
        return _lasting(track, charge, track.still.leaving_s, *_LEAVING_S)
    if track.facts.signal == _SIGTERM:
        return _lasting(track, charge, track.still.ended_s, _SENT_AWAY_S, _SENT_AWAY_S)
    limit_s = _FINISHED_S if charge is Charge.LEFT else _ENDED_S
    return _lasting(track, charge, track.still.ended_s, 0.0, limit_s)


def _frozen(track: Track, pace: Pace) -> Verdict:
    """A rank whose probe does not beat, though its process lives and runs."""
    limit_s = pace.limit_s(Habit.FROZEN, track.place.phase)
    if not track.beat.groups and track.place.phase is None:
        limit_s *= _START_UP
    known = track.facts.state is not None or track.cpu_share is not None
    charge = Charge.GIL_KEPT if known else Charge.SILENT
    if track.facts.state == "D":
        charge = Charge.UNINTERRUPTIBLE
    if track.still.barren_s >= limit_s:
        return _lasting(track, charge, track.still.beat_s, limit_s / 2, limit_s)
    # It reads, or builds something in memory: no endless loop looks like that.
    patience_s = limit_s * _FOR_OTHERS
    return _lasting(track, charge, track.still.beat_s, limit_s / 2, patience_s)


def _asleep(track: Track, pace: Pace) -> Verdict:
    """A rank of which nothing moves."""
    phase = track.place.phase
    limit_s = pace.limit_s(Habit.STILL, phase) * (_slack(track) if phase is None else 1.0)
    usual_s = pace.usual_of_s(Habit.STILL, phase)
    suspect_s = max(_STILL_S, min(limit_s / 2, max(_SUSPECT_S, 1.5 * usual_s)))
    return _lasting(track, Charge.ASLEEP, track.still.whole_s, suspect_s, limit_s)


def _waits_in_kernel(facts: ProcessFacts) -> bool:
    return facts.state == "D" or _FOR_ANOTHER.match(facts.wchan or "") is not None


def _slack(track: Track) -> float:
    """How much less a standstill means where something else may be at work for the rank."""
    place = track.place
    if place.outside or track.polls or _waits_in_kernel(track.facts):
        return _FOR_OTHERS
    if place.doing is Doing.LOCKED and (track.facts.family_cpu_s or 0.0) > 0:
        return _FOR_OTHERS  # for one of its helper processes, by a queue
    if track.beat.device == "cuda" and place.doing in {Doing.STEPS, Doing.DEVICE}:
        return 20.0  # the GPU, of whose work nothing is seen
    if not track.beat.groups:
        return _START_UP
    if place.own and place.doing is Doing.STEPS:
        return 1.0  # the program's own code in a step; of a CPU at work something would be seen
    if not place.known or place.doing in {Doing.STEPS, Doing.DEVICE}:
        return 4.0
    return 1.0 if place.own else 2.0
