"""Who is called better: never by luck more often than is promised, and after the promised time."""

from __future__ import annotations

import random
from math import exp

import pytest

from unhang.comparing.decision import Counts, decide, needed
from unhang.model.comparison import Answer

PAIRS = 2_000


def _poisson(dice: random.Random, mean: float) -> int:
    limit, count, product = exp(-mean), 0, dice.random()
    while product > limit:
        count += 1
        product *= dice.random()
    return count


def _answers(dice: random.Random, before: float, after: float, hours: float) -> list[Answer]:
    counts = (
        Counts(_poisson(dice, before * hours), hours, _poisson(dice, after * hours), hours)
        for _ in range(PAIRS)
    )
    return [decide(each, by_starts=False)[0] for each in counts]


@pytest.mark.parametrize(("rate", "hours"), [(0.25, 8), (0.3, 20), (1.0, 40), (0.05, 100)])
def test_equal_jobs_are_hardly_ever_called_better(rate: float, hours: float) -> None:
    answers = _answers(random.Random(11), rate, rate, hours)
    assert answers.count(Answer.BETTER) <= 0.05 * PAIRS
    assert answers.count(Answer.WORSE) <= 0.05 * PAIRS


@pytest.mark.parametrize(("before", "after"), [(1 / 4, 1 / 72), (0.5, 0.25), (1.0, 0.1)])
def test_the_stated_hours_decide_in_four_of_five_cases(before: float, after: float) -> None:
    hours = needed(before, after, by_starts=False)
    assert hours is not None
    answers = _answers(random.Random(5), before, after, hours)
    assert answers.count(Answer.BETTER) >= 0.8 * PAIRS


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.1), (0.9, 0.3)])
def test_the_stated_starts_decide_in_four_of_five_cases(before: float, after: float) -> None:
    starts = needed(before, after, by_starts=True)
    assert starts is not None
    assert starts == int(starts)
    dice, number = random.Random(7), int(starts)

    def failed(chance: float) -> int:
        return sum(dice.random() < chance for _ in range(number))

    answers = [
        decide(Counts(failed(before), number, failed(after), number), by_starts=True)[0]
        for _ in range(PAIRS)
    ]
    assert answers.count(Answer.BETTER) >= 0.8 * PAIRS


def test_no_failure_in_one_run_proves_nothing() -> None:
    answer, _ = decide(Counts(3, 10, 0, 1), by_starts=True)
    assert answer is Answer.TOO_FEW


def test_no_failure_at_all_says_nothing() -> None:
    assert decide(Counts(0, 100.0, 0, 100.0), by_starts=False) == (Answer.TOO_FEW, 1.0)


def test_a_clear_fall_and_a_clear_rise() -> None:
    assert decide(Counts(20, 80.0, 1, 80.0), by_starts=False)[0] is Answer.BETTER
    assert decide(Counts(1, 80.0, 20, 80.0), by_starts=False)[0] is Answer.WORSE


def test_enough_was_watched_and_nothing_shows() -> None:
    assert decide(Counts(10, 80.0, 9, 80.0), by_starts=False)[0] is Answer.NO_DIFFERENCE


def test_a_rate_that_does_not_fall_needs_no_hours() -> None:
    assert needed(0.2, 0.2, by_starts=False) is None
    assert needed(0.0, 0.0, by_starts=True) is None


def test_the_claim_of_four_hours_to_seventy_two() -> None:
    """A failure every 4 h before, every 72 h after: how long one must watch to say so."""
    hours = needed(1 / 4, 1 / 72, by_starts=False)
    assert hours == pytest.approx(38.9)
    # One failure in 72 h after six in 24 h is enough; none in the first 12 h after is not.
    assert decide(Counts(6, 24.0, 1, 72.0), by_starts=False)[0] is Answer.BETTER
    assert decide(Counts(6, 24.0, 0, 12.0), by_starts=False)[0] is Answer.TOO_FEW
    assert decide(Counts(1, 4.0, 1, 72.0), by_starts=False)[0] is not Answer.BETTER


def test_ninety_eight_percent_fewer_errors() -> None:
    """It is more than 4 h to 72 h, which is 94 % fewer; both need about as long to be shown."""
    hours = needed(1 / 4, 0.02 / 4, by_starts=False)
    assert hours == pytest.approx(35.6, abs=4)


@pytest.mark.parametrize(("chance", "starts"), [(0.1, 12), (0.4, 30), (0.9, 50)])
def test_equal_shares_are_hardly_ever_called_better(chance: float, starts: int) -> None:
    dice = random.Random(13)

    def failed() -> int:
        return sum(dice.random() < chance for _ in range(starts))

    answers = [
        decide(Counts(failed(), starts, failed(), starts), by_starts=True)[0] for _ in range(PAIRS)
    ]
    assert answers.count(Answer.BETTER) <= 0.05 * PAIRS
    assert answers.count(Answer.WORSE) <= 0.05 * PAIRS
