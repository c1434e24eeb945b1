"""What is usual is learnt from what ended by itself, by place and by phase."""

from __future__ import annotations

import pytest

from unhang.live.judge.pace import Habit, Pace
from unhang.model.phases import Phase


def test_before_anything_is_known_nothing_is_usual() -> None:
    assert Pace().usual_s(Habit.STILL, "helper (train.py", Phase.SAVE) == 0.0


def test_one_place_teaches_nothing_about_another() -> None:
    pace = Pace()
    pace.learn(Habit.LATE, "a (train.py", 100.0)
    assert pace.usual_s(Habit.LATE, "b (train.py") == 0.0
    assert pace.usual_s(Habit.LATE, "b (train.py", "a (train.py") == 100.0


def test_a_note_on_a_late_rank_waits_for_more_than_is_usual() -> None:
    pace = Pace()
    assert pace.late_s(Phase.EVAL) == 5.0
    pace.learn(Habit.LATE, Phase.EVAL, 20.0)
    assert pace.late_s(Phase.EVAL) == pytest.approx(60.0)


def test_memory_is_bounded() -> None:
    pace = Pace()
    for number in range(10_000):
        pace.learn(Habit.LATE, None, float(number))
        pace.learn(Habit.LATE, f"f{number} (train.py", 1.0)
    assert len(pace.seen) <= 1_024
    assert max(len(seen) for seen in pace.seen.values()) <= 64


def test_what_was_learnt_is_shown_by_phase() -> None:
    pace = Pace()
    pace.learn(Habit.LATE, Phase.SAVE, 12.5)
    pace.learn(Habit.STILL, Phase.EVAL, 3.0)
    pace.learn(Habit.LATE, "save (train.py", 12.5)
    assert pace.phases_s() == {"save": 12.5}
