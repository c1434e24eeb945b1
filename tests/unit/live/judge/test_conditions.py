"""What is held against a rank that others wait for: how it failed, or what it stands in."""

from __future__ import annotations

import pytest

from live_jobs import PLACES
from unhang.live.judge.conditions import judge
from unhang.live.judge.pace import Pace
from unhang.live.judge.track import Track, begin
from unhang.live.messages.reports import Beat, GroupBeat, ProcessFacts, ProcessReport, Raised
from unhang.live.messages.standing import Charge, Stage
from unhang.model.ids import Rank

LINK = Raised(
    type="RuntimeError",
    message="[third_party/gloo/gloo/transport/tcp/pair.cc:547] Read error [10.0.0.1]:4711:"
    " Connection timed out",
)


@pytest.mark.parametrize(
    ("raised", "stage"),
    [(LINK, Stage.WATCHED), (Raised(type="KeyError", message="'labels'"), Stage.CONFIRMED)],
)
def test_a_failure_of_its_own_and_one_of_the_link(raised: Raised, stage: Stage) -> None:
    beat = Beat(host="gn1", pid=7, rank=Rank(1), state="raising", exception=raised)
    report = ProcessReport(
        beat=beat, facts=ProcessFacts(alive=True, state="S"), beats=1, beat_age_s=0.0
    )
    track = begin(report, 0.0)
    track.still.leaving_s = 60.0
    verdict = judge(track, Pace())
    assert (verdict.charge, verdict.stage) == (Charge.RAISED, stage)


def still(
    state: str = "S",
    wchan: str | None = None,
    wakes: int = 0,
    place: str = "code",
    family_cpu_s: float = 0.0,
) -> Track:
    """A rank of which nothing has moved for 30 s."""
    beat = Beat(
        host="gn1", pid=7, rank=Rank(1), stack=PLACES[place], groups={"0": GroupBeat(name="0")}
    )
    facts = ProcessFacts(alive=True, state=state, wchan=wchan, family_cpu_s=family_cpu_s)
    track = begin(ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0), 0.0)
    track.still.whole_s, track.still.wakes = 30.0, wakes
    return track


@pytest.mark.parametrize(
    ("track", "stage"),
    [
        (still(wchan="hrtimer_nanosleep"), Stage.CONFIRMED),
        (still(wchan="futex_do_wait"), Stage.CONFIRMED),
        (still(wchan="hrtimer_nanosleep", wakes=12), Stage.SUSPECTED),
        (still(wchan="wait_woken"), Stage.SUSPECTED),
        (still(wchan="unix_stream_read_generic"), Stage.SUSPECTED),
        (still(wchan="anon_pipe_read"), Stage.SUSPECTED),
        (still(wchan="poll_schedule_timeout.constprop.0"), Stage.SUSPECTED),
        (still(wchan="do_wait"), Stage.SUSPECTED),
        (still(wchan="locks_lock_inode_wait"), Stage.SUSPECTED),
        (still(wchan="futex_do_wait", place="lock"), Stage.CONFIRMED),
        (still(wchan="futex_do_wait", place="lock", family_cpu_s=2.0), Stage.SUSPECTED),
        (still(state="D", wchan="rpc_wait_bit_killable"), Stage.SUSPECTED),
    ],
    ids=lambda value: getattr(getattr(value, "facts", None), "wchan", None),
)
def test_who_waits_for_somebody_outside_of_the_job_is_a_suspect_for_long(
    track: Track, stage: Stage
) -> None:
    verdict = judge(track, Pace())
    assert (verdict.charge, verdict.stage) == (Charge.ASLEEP, stage)


@pytest.mark.parametrize(("barren_s", "stage"), [(12.0, Stage.CONFIRMED), (1.0, Stage.SUSPECTED)])
def test_a_kept_interpreter_lock_means_less_where_memory_or_bytes_move(
    barren_s: float, stage: Stage
) -> None:
    track = still(state="R")
    track.still.beat_s, track.still.barren_s = 12.0, barren_s
    verdict = judge(track, Pace())
    assert (verdict.charge, verdict.stage) == (Charge.GIL_KEPT, stage)


def sent_away(lasted_s: float) -> Stage:
    facts = ProcessFacts(alive=False, signal=15)
    report = ProcessReport(beat=Beat(host="gn1", pid=7), facts=facts, beats=1, beat_age_s=0.0)
    track = begin(report, 0.0)
    track.still.ended_s = lasted_s
    return judge(track, Pace()).stage


def test_a_rank_that_was_told_to_end_is_most_often_one_of_all() -> None:
    assert sent_away(5.0) is Stage.WATCHED
    assert sent_away(7.0) is Stage.CONFIRMED
