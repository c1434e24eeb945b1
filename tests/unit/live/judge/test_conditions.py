"""What is held against a rank that others wait for: how it failed, or what it stands in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.live_jobs import PLACES
from unhang.live.judge.conditions import judge, where_of
from unhang.live.judge.track import Track, begin
from unhang.live.judge.usual_durations import DurationKind, UsualDurations
from unhang.live.messages.job_snapshot import SuspicionReason
from unhang.live.messages.reports import Beat, GroupBeat, ProcessFacts, ProcessReport, Raised
from unhang.model.ids import Rank

LINK = Raised(
    type="RuntimeError",
    message="[third_party/gloo/gloo/transport/tcp/pair.cc:547] Read error [10.0.0.1]:4711:"
    " Connection timed out",
)


OWN = Raised(type="KeyError", message="'labels'")


@pytest.mark.parametrize(
    ("raised", "lifeless_s", "proved"),
    [(LINK, 60.0, False), (OWN, 60.0, True), (OWN, 0.0, False)],
    ids=["of the link", "its own", "its own, and it still saves something"],
)
def test_a_failure_of_its_own_and_one_of_the_link(
    raised: Raised, lifeless_s: float, proved: bool
) -> None:
    beat = Beat(host="gn1", pid=7, rank=Rank(1), state="raising", exception=raised)
    report = ProcessReport(
        beat=beat, facts=ProcessFacts(alive=True, state="S"), beats=1, beat_age_s=0.0
    )
    track = begin(report, 0.0)
    track.still.leaving_s, track.still.lifeless_s = 60.0, lifeless_s
    verdict = judge(track, UsualDurations())
    assert (verdict.charge, verdict.proved) == (SuspicionReason.RAISED, proved)


def still(state: str = "S", wchan: str | None = None, place: str = "code") -> Track:
    """A rank of which nothing has moved for 30 s."""
    beat = Beat(
        host="gn1", pid=7, rank=Rank(1), stack=PLACES[place], groups={"0": GroupBeat(name="0")}
    )
    facts = ProcessFacts(alive=True, state=state, wchan=wchan)
    track = begin(ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0), 0.0)
    track.still.whole_s = track.still.lifeless_s = 30.0
    return track


@pytest.mark.parametrize(
    "track",
    [
        still(wchan="hrtimer_nanosleep"),
        still(wchan="unix_stream_read_generic"),
        still(wchan="do_wait"),
        still(wchan="futex_do_wait", place="lock"),
        still(place="save"),
        still(place="eval"),
        still(state="D", wchan="rpc_wait_bit_killable"),
    ],
    ids=lambda track: str(track.facts.wchan),
)
def test_who_stands_still_is_suspected_and_nothing_is_proved(track: Track) -> None:
    verdict = judge(track, UsualDurations())
    assert (verdict.charge, verdict.suspected, verdict.proved) == (
        SuspicionReason.ASLEEP,
        True,
        False,
    )


def test_a_kept_interpreter_lock_proves_nothing() -> None:
    track = still(state="R")
    track.still.beat_s = 600.0
    verdict = judge(track, UsualDurations())
    assert (verdict.charge, verdict.suspected, verdict.proved) == (
        SuspicionReason.GIL_KEPT,
        True,
        False,
    )


def test_who_stopped_a_process_may_let_it_go_on() -> None:
    stopped, traced = still(state="T"), still(state="t")
    stopped.still.stopped_s = traced.still.stopped_s = 60.0
    told = [judge(track, UsualDurations()) for track in (stopped, traced)]
    assert [verdict.charge for verdict in told] == [SuspicionReason.STOPPED] * 2
    assert [(verdict.suspected, verdict.proved) for verdict in told] == [(True, False)] * 2


def test_what_is_usual_at_a_place_is_suspected_later() -> None:
    usual, track = UsualDurations(), still()
    track.still.whole_s = 8.0
    assert judge(track, usual).suspected
    for where in where_of(track):
        usual.learn(DurationKind.STILL, where, 9.0)
    assert not judge(track, usual).suspected


def test_a_job_that_pauses_elsewhere_is_given_a_moment_more_and_no_longer() -> None:
    usual, track = UsualDurations(), still()
    track.still.whole_s = 4.0
    assert judge(track, usual).suspected
    usual.learn(DurationKind.STILL, None, 30.0)
    assert not judge(track, usual).suspected
    track.still.whole_s = 5.0
    assert judge(track, usual).suspected


def test_a_main_thread_that_ended_well_may_have_left_its_work_to_others() -> None:
    beat = Beat(host="gn1", pid=7, rank=Rank(1), state="exiting")
    facts = ProcessFacts(alive=True, state="S")
    track = begin(ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0), 0.0)
    track.still.leaving_s = 60.0
    verdict = judge(track, UsualDurations())
    assert (verdict.charge, verdict.suspected, verdict.proved) == (
        SuspicionReason.LEFT,
        True,
        False,
    )


def gone(signal: int, lasted_s: float) -> tuple[bool, bool]:
    facts = ProcessFacts(alive=False, signal=signal)
    report = ProcessReport(beat=Beat(host="gn1", pid=7), facts=facts, beats=1, beat_age_s=0.0)
    track = begin(report, 0.0)
    track.still.ended_s = lasted_s
    verdict = judge(track, UsualDurations())
    return verdict.suspected, verdict.proved


@pytest.mark.parametrize("signal", [6, 15])
def test_who_was_told_to_end_or_aborted_in_a_call_is_most_often_one_of_all(signal: int) -> None:
    """A launcher on a busy host takes its time to end the others."""
    assert gone(signal, 5.0) == (False, False)
    assert gone(signal, 7.0) == (True, True)
    assert gone(9, 1.5) == (True, True)


@pytest.mark.parametrize(("signs", "suspected"), [({"children": 0.0}, False), ({}, True)])
def test_a_rank_whose_children_work_does_not_loop_itself(
    signs: dict[str, float], suspected: bool
) -> None:
    """A compiler takes its time; the rank that waits for it computes nothing."""
    track = still(place="lock")
    track.still.whole_s, track.still.function_s, track.signs = 0.0, 60.0, signs
    verdict = judge(track, UsualDurations())
    assert verdict.charge is (SuspicionReason.SPINNING if suspected else SuspicionReason.AT_WORK)


@pytest.mark.parametrize("calls", [0, 90])
@pytest.mark.parametrize("fits", [False, True])
def test_a_program_that_computes_in_the_same_functions_is_suspected_of_a_loop(
    *, calls: int, fits: bool
) -> None:
    """Also before its first step, and in an evaluation that runs the model: nothing is proved."""
    track = still(place="code")
    track.beat = replace(track.beat, groups={"0": GroupBeat(name="0", enqueued=calls)})
    track.place = replace(track.place, fits=fits)
    track.still.whole_s, track.still.function_s = 0.0, 8.0
    verdict = judge(track, UsualDurations())
    assert (verdict.charge, verdict.proved) == (SuspicionReason.SPINNING, False)


@pytest.mark.parametrize(
    ("phase", "still_s", "suspected"),
    [("save", 30.0, False), ("save", 61.0, True), ("train", 30.0, True), (None, 30.0, True)],
)
def test_a_declared_phase_may_stand_still_for_a_while(
    phase: str | None, still_s: float, suspected: bool
) -> None:
    beat = Beat(host="gn1", pid=7, rank=Rank(1), stack=PLACES["code"], phase=phase)
    facts = ProcessFacts(alive=True, state="S")
    track = begin(ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0), 0.0)
    track.still.whole_s = track.still.lifeless_s = still_s
    verdict = judge(track, UsualDurations())
    assert (verdict.suspected, verdict.proved) == (suspected, False)
