"""How long what shows no life is left alone: never less than the floor, never beyond the limit."""

from __future__ import annotations

import pytest

from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.patience import (
    FLOOR_S,
    OUTSIDE_S,
    TIMES_USUAL,
    UNKNOWN_LIMIT_S,
    Patience,
    Stood,
)
from unhang.live.judge.usual_durations import DurationKind, UsualDurations
from unhang.model.phases import Phase


def needed_s(
    *,
    usual_s: float = 0.0,
    unsaved_s: float = 0.0,
    world: int = 8,
    ranks: int = 8,
    limit_s: float | None = None,
    alone: bool = True,
    stirs: bool = False,
    asked_s: float | None = None,
) -> float:
    """Of a rank that is waited for in its evaluation, whose kind has taken `usual_s` before."""
    usual = UsualDurations()
    usual.learn(DurationKind.LATE, Phase.EVAL, usual_s)
    patience = Patience(usual, Checkpoints(began_s=1_000.0 - unsaved_s), asked_s, 1_000.0, world)
    stood = Stood(ranks=ranks, waited_s=0.0, limit_s=limit_s, alone=alone, stirs=stirs)
    return patience.needed_s(stood, Phase.EVAL)


def test_what_the_user_asks_for_is_kept() -> None:
    assert needed_s(asked_s=7.0, usual_s=500.0, unsaved_s=900.0, stirs=True) == 7.0


@pytest.mark.parametrize(("alone", "least_s"), [(True, FLOOR_S), (False, OUTSIDE_S)])
def test_without_any_history_it_is_the_floor(alone: bool, least_s: float) -> None:
    assert needed_s(alone=alone) == least_s


def test_many_times_what_is_usual_there() -> None:
    assert needed_s(usual_s=30.0) == TIMES_USUAL * 30.0
    assert needed_s(usual_s=5.0) == FLOOR_S
    assert TIMES_USUAL >= 2  # what is usual has been outlasted once, by a healthy job


def test_work_that_an_end_would_lose_is_worth_a_longer_wait() -> None:
    assert needed_s(unsaved_s=400.0) == 400.0
    assert needed_s(unsaved_s=400.0, ranks=4) == 800.0  # four lose their time, eight their work
    assert needed_s(unsaved_s=400.0, ranks=0) == UNKNOWN_LIMIT_S


@pytest.mark.parametrize(
    ("limit_s", "most_s"), [(None, UNKNOWN_LIMIT_S), (700.0, 700.0), (7_200.0, 5_000.0)]
)
def test_never_longer_than_the_limit_of_the_program(limit_s: float | None, most_s: float) -> None:
    assert needed_s(usual_s=500.0 if limit_s != 700.0 else 300.0, limit_s=limit_s) == most_s


def test_what_has_been_longer_than_the_limit_is_left_alone_longer() -> None:
    """A limit that the job itself has outlasted says nothing."""
    assert needed_s(usual_s=2_000.0, limit_s=700.0) == 4_000.0


def test_what_wakes_up_now_and_then_has_the_whole_limit() -> None:
    assert needed_s(stirs=True, limit_s=900.0) == 900.0
    assert needed_s(stirs=True, limit_s=90.0) == OUTSIDE_S
