"""Limits are learnt from what ended by itself, between their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.live.judge.pace import Habit, Pace
from unhang.model.phases import Phase


def test_before_anything_is_known_code_has_little_and_work_much_patience() -> None:
    pace = Pace()
    assert pace.limit_s(Habit.STILL, None) == 6.0
    assert pace.limit_s(Habit.STILL, Phase.SAVE) == 180.0
    assert pace.limit_s(Habit.FROZEN, None) < pace.limit_s(Habit.FROZEN, Phase.DATA)


def test_what_ended_by_itself_raises_the_limit() -> None:
    pace = Pace()
    pace.learn(Habit.STILL, None, 9.0)
    assert pace.limit_s(Habit.STILL, None) == pytest.approx(27.0)


def test_a_phase_that_is_known_to_be_quick_gets_less_patience_but_not_little() -> None:
    pace = Pace()
    for _ in range(10):
        pace.learn(Habit.STILL, Phase.SAVE, 0.5)
    assert pace.limit_s(Habit.STILL, Phase.SAVE) == 45.0


def test_one_phase_teaches_nothing_about_another() -> None:
    pace = Pace()
    pace.learn(Habit.STILL, Phase.SAVE, 100.0)
    assert pace.limit_s(Habit.STILL, Phase.EVAL) == Pace().limit_s(Habit.STILL, Phase.EVAL)


@given(st.lists(st.floats(0, 1e6), max_size=100), st.sampled_from([None, *Phase]))
def test_limits_stay_within_their_bounds(seen: list[float], phase: Phase | None) -> None:
    pace = Pace()
    for lasted_s in seen:
        pace.learn(Habit.STILL, phase, lasted_s)
    assert 5.0 <= pace.limit_s(Habit.STILL, phase) <= 1_800.0


def test_memory_is_bounded() -> None:
    pace = Pace()
    for lasted_s in range(10_000):
        pace.learn(Habit.LATE, None, float(lasted_s))
    assert sum(len(seen) for seen in pace.seen.values()) <= 64


def test_what_was_learnt_is_shown_by_phase() -> None:
    pace = Pace()
    pace.learn(Habit.LATE, Phase.SAVE, 12.5)
    pace.learn(Habit.STILL, Phase.EVAL, 3.0)
    assert pace.usual_s(Habit.LATE) == {"save": 12.5}
