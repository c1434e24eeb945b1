"""What counts as a move of a process, and what is mere breathing."""

from __future__ import annotations

import pytest

from unhang.live.reports import Beat, FramePlace, ProcessFacts, ProcessReport
from unhang.live.track import Track, begin
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
