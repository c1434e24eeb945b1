"""What counts as a move of a process, and what is mere breathing."""

from __future__ import annotations

from typing import Any

import pytest

from support.live_jobs import waiting_in
from unhang.live.judge.track import Track, begin
from unhang.live.messages.reports import Beat, FramePlace, GroupBeat, ProcessFacts, ProcessReport
from unhang.model.ids import Rank

PAUSES = (FramePlace("train.py", 30, "check_results"),)


def report(second: int, main_cpu_s: float | None) -> ProcessReport:
    beat = Beat(host="gn1", pid=7, rank=Rank(0), mono_s=float(second), stack=PAUSES)
    facts = ProcessFacts(alive=True, state="S", cpu_s=9.0, main_cpu_s=main_cpu_s)
    return ProcessReport(beat=beat, facts=facts, beats=second, beat_age_s=0.0)


def watched(main_ms_per_s: float | None, seconds: int = 6) -> Track:
    def cpu_s(second: int) -> float | None:
        return None if main_ms_per_s is None else second * main_ms_per_s / 1_000

    track = begin(report(0, cpu_s(0)), 0.0)
    for second in range(1, seconds + 1):
        track.hear(report(second, cpu_s(second)), 1.0, float(second))
    return track


@pytest.mark.parametrize("main_ms_per_s", [0.0, 0.5, None])
def test_a_main_thread_that_sleeps_or_looks_around_stands_still(
    main_ms_per_s: float | None,
) -> None:
    assert watched(main_ms_per_s).still.whole_s == 6.0


def test_a_main_thread_that_works_a_little_between_pauses_moves() -> None:
    assert watched(1.5).still.whole_s == 0.0


SAVES = (FramePlace("/env/site-packages/torch/serialization.py", 900, "_save"), *PAUSES)


def writing(stack: tuple[FramePlace, ...], *sizes: int) -> Track:
    """A process that uses no CPU time and writes so many bytes in each second."""
    total = 0
    track: Track | None = None
    for second, size in enumerate((0, *sizes)):
        total += size
        beat = Beat(host="gn1", pid=7, rank=Rank(0), mono_s=float(second), stack=stack)
        facts = ProcessFacts(alive=True, state="S", cpu_s=9.0, read_bytes=0, write_bytes=total)
        told = ProcessReport(beat=beat, facts=facts, beats=second + 1, beat_age_s=0.0)
        if track is None:
            track = begin(told, 0.0)
        else:
            track.hear(told, 1.0, float(second))
    assert track is not None
    return track


def test_a_save_that_crawls_is_at_work_and_the_same_bytes_elsewhere_are_not() -> None:
    sizes = (6_000,) * 10
    assert writing(SAVES, *sizes).still.whole_s < 3
    assert writing(PAUSES, *sizes).still.whole_s == 10.0


def test_a_burst_every_few_seconds_is_no_save() -> None:
    assert writing(SAVES, *(7_000, 0, 0) * 5).still.whole_s == 15.0


def test_the_echo_of_a_large_write_is_short() -> None:
    assert writing(SAVES, 10**9, *(0,) * 8).still.whole_s >= 6.0


def looking_around(*runs: int | None) -> Track:
    """A process of which nothing moves, whose main thread had run so often at each second."""
    return standing(*({"main_runs": n} for n in runs))


def standing(*facts: dict[str, Any]) -> Track:
    """A process that stands at one place, with these facts at each second."""

    def told(second: int) -> ProcessReport:
        beat = Beat(host="gn1", pid=7, rank=Rank(0), mono_s=float(second), stack=PAUSES)
        told = ProcessFacts(**{"alive": True, "state": "S", "cpu_s": 9.0, **facts[second]})
        return ProcessReport(beat=beat, facts=told, beats=second, beat_age_s=0.0)

    track = begin(told(0), 0.0)
    for second in range(1, len(facts)):
        track.hear(told(second), 1.0, float(second))
    return track


def test_a_main_thread_that_wakes_again_and_again_stirs_and_one_that_fell_asleep_does_not() -> None:
    polling = looking_around(7, 7, 9, 9, 11, 11)
    assert (polling.stirs, polling.still.lifeless_s) == (True, 5.0)
    assert not looking_around(7, 9, 9, 9, 9, 9).stirs
    assert not looking_around(*(None,) * 6).stirs


@pytest.mark.parametrize("counter", ["main_delayed_s", "helpers_delayed_s"])
@pytest.mark.parametrize(("share", "stood_s"), [(0.0, 8.0), (0.04, 7.76), (1.0, 2.0)])
def test_time_without_a_core_counts_for_little(counter: str, share: float, stood_s: float) -> None:
    track = standing(*({counter: share * second} for second in range(9)))
    assert track.still.whole_s == pytest.approx(stood_s)
    assert track.lives(8.0) == (("no_core",) if share == 1.0 else ())


@pytest.mark.parametrize(
    ("state", "used", "stood_s"), [("S", 0.0, 8.0), ("R", 0.0, 2.0), ("R", 0.0004, 2.0024)]
)
def test_a_wait_for_a_core_that_is_not_over_yet_is_told_by_the_state(
    state: str, used: float, stood_s: float
) -> None:
    facts = ({"state": state, "main_cpu_s": used * second} for second in range(9))
    assert standing(*facts).still.whole_s == pytest.approx(stood_s)


def test_a_probe_whose_process_gets_no_core_is_not_kept_from_beating() -> None:
    def late(second: int, delayed_s: float | None) -> ProcessReport:
        facts = ProcessFacts(alive=True, state="R", cpu_s=9.0, main_delayed_s=delayed_s)
        beat = Beat(host="gn1", pid=7, rank=Rank(0), stack=PAUSES)
        return ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=float(second))

    for share, late_s in ((0.0, 6.0), (None, 6.0), (0.9, 1.95)):
        track = begin(late(0, None if share is None else 0.0), 0.0)
        for second in range(1, 7):
            delayed_s = None if share is None else share * second
            track.hear(late(second, delayed_s), 1.0, float(second))
        assert track.still.beat_s == pytest.approx(late_s)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cpu_s", 0.05),
        ("threads_cpu_s", 0.02),
        ("family_cpu_s", 0.05),
        ("family_bytes", 10_000),
        ("rss_bytes", 1 << 20),
        ("faults", 100),
    ],
)
def test_whatever_goes_on_moving_is_life(name: str, least: float) -> None:
    going = standing(*({name: 9 + second * least} for second in range(6)))
    assert going.still.lifeless_s == 0.0
    still = standing(*({name: 9.0} for _ in range(6)))
    assert (still.still.lifeless_s, still.stirs) == (5.0, False)


def test_a_burst_now_and_then_is_no_life_but_a_stir() -> None:
    sizes = (0, 1, 1, 1, 2, 2, 2, 3, 3, 3)
    track = standing(*({"family_bytes": n * 100_000} for n in sizes))
    assert (track.stirs, track.still.lifeless_s) == (True, 9.0)


def test_a_helper_that_was_begun_since_the_last_step_stirs_and_an_old_one_ticks() -> None:
    """Watchdogs, progress bars and loaders wake up for ever, also while a job hangs."""
    new = standing(*({"young": ((50.0, n), (2.0, 7))} for n in range(6)))
    assert new.stirs
    old = begin(_told_at(100.0, 0), 0.0)
    old.progress_s = 99.0
    for second in range(1, 6):
        old.hear(_told_at(100.0 + second, second), 1.0, float(second))
    assert not old.stirs


def _told_at(mono_s: float, runs: int) -> ProcessReport:
    beat = Beat(host="gn1", pid=7, rank=Rank(0), mono_s=mono_s, stack=PAUSES)
    facts = ProcessFacts(alive=True, state="S", cpu_s=9.0, young=((50.0, runs),))
    return ProcessReport(beat=beat, facts=facts, beats=runs, beat_age_s=0.0)


@pytest.mark.parametrize(
    ("issued", "stood_s"), [((5, 5, 5, 5), (3.0, 2.0)), ((5, 6, 7, 9), (0.0, 0.0))]
)
def test_sends_and_receives_are_progress_though_no_group_counts_them(
    issued: tuple[int, ...], stood_s: tuple[float, float]
) -> None:
    def told(second: int) -> ProcessReport:
        calls = issued[second]
        beat = Beat(
            host="gn1", pid=7, rank=Rank(0), mono_s=float(second), stack=PAUSES, issued=calls
        )
        facts = ProcessFacts(alive=True, state="S", cpu_s=9.0)
        return ProcessReport(beat=beat, facts=facts, beats=second, beat_age_s=0.0)

    track = begin(told(0), 0.0)
    for second in range(1, len(issued)):
        track.hear(told(second), 1.0, float(second))
    assert (track.still.whole_s, track.still.function_s) == stood_s


def test_who_cannot_be_seen_by_the_kernel_is_never_without_life() -> None:
    assert standing(*({"cpu_s": None} for _ in range(6))).still.lifeless_s == 0.0


def test_a_gap_in_the_reports_wipes_out_what_had_stood_still() -> None:
    track = watched(0.0)
    track.forget()
    assert (track.still.whole_s, track.looks) == (0.0, 0)


def test_a_long_pause_between_two_reports_counts_for_little() -> None:
    track = begin(report(0, 0.0), 0.0)
    track.hear(report(1, 0.0), 60.0, 60.0)
    assert track.still.whole_s <= 2.5


@pytest.mark.parametrize(("dumps", "late_s"), [(False, 6.0), (True, 0.0)])
def test_who_puts_its_calls_into_words_for_us_is_not_frozen(dumps: bool, late_s: float) -> None:
    facts = ProcessFacts(alive=True, state="S", cpu_s=9.0, dumps=dumps)
    still = ProcessReport(beat=report(0, 0.0).beat, facts=facts, beats=1, beat_age_s=0.0)
    track = begin(still, 0.0)
    for second in range(1, 7):
        track.hear(still, 1.0, float(second))
    assert (track.still.beat_s, track.beats_late) == (late_s, not dumps)


@pytest.mark.parametrize(("waits", "stood_s"), [(False, 5.0), (True, 2.0)])
def test_a_call_whose_end_is_noted_late_is_no_move_of_who_does_something_else(
    *, waits: bool, stood_s: float
) -> None:
    """Gloo notes what ended last, and not the highest number."""
    stack = waiting_in("all_reduce") if waits else PAUSES
    track: Track | None = None
    for second in range(7):
        group = GroupBeat(name="0", enqueued=9, completed=8 + (second >= 4))
        beat = Beat(host="gn1", pid=7, mono_s=float(second), stack=stack, groups={"0": group})
        facts = ProcessFacts(alive=True, state="R", cpu_s=0.9 * second)
        told = ProcessReport(beat=beat, facts=facts, beats=second, beat_age_s=0.0)
        if track is None:
            track = begin(told, 0.0)
        else:
            track.hear(told, 1.0, float(second))
    assert track is not None
    assert track.still.function_s == stood_s
