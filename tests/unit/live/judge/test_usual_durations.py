"""What is usual is learnt from what ended by itself, by place and by phase."""

from __future__ import annotations

import pytest

from unhang.live.judge.usual_durations import DurationKind, UsualDurations
from unhang.model.phases import Phase


def test_before_anything_is_known_nothing_is_usual() -> None:
    assert UsualDurations().usual_s(DurationKind.STILL, "helper (train.py", Phase.SAVE) == 0.0


def test_one_place_teaches_nothing_about_another() -> None:
    usual = UsualDurations()
    usual.learn(DurationKind.LATE, "a (train.py", 100.0)
    assert usual.usual_s(DurationKind.LATE, "b (train.py") == 0.0
    assert usual.usual_s(DurationKind.LATE, "b (train.py", "a (train.py") == 100.0


def test_a_note_on_a_late_rank_waits_for_more_than_is_usual() -> None:
    usual = UsualDurations()
    assert usual.late_s(Phase.EVAL) == 5.0
    usual.learn(DurationKind.LATE, Phase.EVAL, 20.0)
    assert usual.late_s(Phase.EVAL) == pytest.approx(60.0)


def test_memory_is_bounded() -> None:
    usual = UsualDurations()
    for number in range(10_000):
        usual.learn(DurationKind.LATE, None, float(number))
        usual.learn(DurationKind.LATE, f"f{number} (train.py", 1.0)
    assert len(usual.seen) <= 1_024
    assert max(len(seen) for seen in usual.seen.values()) <= 64


def test_what_was_learnt_is_shown_by_phase() -> None:
    usual = UsualDurations()
    usual.learn(DurationKind.LATE, Phase.SAVE, 12.5)
    usual.learn(DurationKind.STILL, Phase.EVAL, 3.0)
    usual.learn(DurationKind.LATE, "save (train.py", 12.5)
    assert usual.phases_s() == {"save": 12.5}
