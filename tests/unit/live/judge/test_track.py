"""What counts as a move of a process, and what is mere breathing."""

from __future__ import annotations

import pytest

from unhang.live.judge.track import Track, begin
from unhang.live.messages.reports import Beat, FramePlace, ProcessFacts, ProcessReport
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

    def told(second: int, main_runs: int | None) -> ProcessReport:
        beat = Beat(host="gn1", pid=7, rank=Rank(0), mono_s=float(second), stack=PAUSES)
        facts = ProcessFacts(alive=True, state="S", cpu_s=9.0, main_runs=main_runs)
        return ProcessReport(beat=beat, facts=facts, beats=second, beat_age_s=0.0)

    track = begin(told(0, runs[0]), 0.0)
    for second, main_runs in enumerate(runs[1:], start=1):
        track.hear(told(second, main_runs), 1.0, float(second))
    return track


def test_a_main_thread_that_wakes_again_and_again_polls_and_one_that_fell_asleep_does_not() -> None:
    assert looking_around(7, 7, 9, 9, 11, 11).polls
    assert not looking_around(7, 9, 9, 9, 9, 9).polls
    assert not looking_around(*(None,) * 6).polls


def frozen(*rss_mib: int) -> Track:
    """A process whose probe beat once, and that held so much memory at each second since."""
    beat = Beat(host="gn1", pid=7, rank=Rank(0), stack=PAUSES)

    def told(held_mib: int) -> ProcessReport:
        facts = ProcessFacts(alive=True, state="R", rss_bytes=held_mib << 20)
        return ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0)

    track = begin(told(rss_mib[0]), 0.0)
    for second, held_mib in enumerate(rss_mib[1:], start=1):
        track.hear(told(held_mib), 1.0, float(second))
    return track


def test_a_frozen_process_that_takes_memory_gets_on() -> None:
    assert frozen(100, 150, 200, 250, 300).still.barren_s == 0.0
    assert frozen(100, 100, 100, 100, 100).still.barren_s == 4.0


def test_a_gap_in_the_reports_wipes_out_what_had_stood_still() -> None:
    track = watched(0.0)
    track.forget()
    assert (track.still.whole_s, track.looks) == (0.0, 0)


def test_a_long_pause_between_two_reports_counts_for_little() -> None:
    track = begin(report(0, 0.0), 0.0)
    track.hear(report(1, 0.0), 60.0, 60.0)
    assert track.still.whole_s <= 2.5
