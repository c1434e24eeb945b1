"""From the counts of two sets of runs to an answer, and to how much more would decide.

Two one-sided exact tests at 2.5 % each: of a thousand pairs of equal jobs at most 25 are called
better, and 25 worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from unhang.comparing.distributions import poisson_pmf
from unhang.comparing.intervals import binomial_pmf, rates_p, shares_p
from unhang.model.comparison import Answer

ALPHA = 0.025
POWER = 0.82
"""A little above four in five: power rises in small saws with the exposure."""
_MOST_EVENTS = 400
_NEGLIGIBLE = 1e-9
_LARGEST = 1e7


@dataclass(frozen=True, slots=True)
class Counts:
    """Events of both sides, and what they were watched for (hours, or starts)."""

    before: int
    exposure_before: float
    after: int
    exposure_after: float


def decide(counts: Counts, *, by_starts: bool) -> tuple[Answer, float]:
    """Return the answer, and p of the direction in which the estimate points."""
    test = shares_p if by_starts else rates_p
    fell = _p(test, counts)
    rose = _p(test, _swapped(counts))
    if fell <= ALPHA:
        return Answer.BETTER, fell
    if rose <= ALPHA:
        return Answer.WORSE, rose
    best = _p(test, Counts(counts.before, counts.exposure_before, 0, counts.exposure_after))
    answer = Answer.TOO_FEW if best > ALPHA else Answer.NO_DIFFERENCE
    return answer, min(fell, rose)


def needed(before: float, after: float, *, by_starts: bool) -> float | None:
    """Exposure of each side after which the answer *better* comes in four of five cases.

    Args:
        before: true rate, per hour or per start.
        after: likewise.
        by_starts: whether the rates are shares of starts.

    Returns:
        Hours or starts, rounded up to a tenth of an hour or a whole start; None where the rate
        does not fall.
    """
    if not 0 <= after < before:
        return None
    power = partial(_power_of_starts if by_starts else _power_of_hours, before, after)
    high = 1.0 if by_starts else 1 / before
    while power(high) < POWER:
        high *= 1.5
        if high > _LARGEST or high * before > _MOST_EVENTS:
            return None
    return _smallest(power, high, whole=by_starts)


def _smallest(power: Callable[[float], float], high: float, *, whole: bool) -> float:
    """Power rises in small saws: the answer must hold for somewhat more, too."""
    low, step = high / 1.5, 1.0 if whole else high / 300
    while high - step > low and power(high - step) >= POWER and power(high) >= POWER:
        high -= step
    return float(-(-high // 1)) if whole else float(-(-high * 10 // 1)) / 10


def _power_of_hours(before: float, after: float, hours: float) -> float:
    return _power(
        lambda n: poisson_pmf(n, before * hours),
        lambda n: poisson_pmf(n, after * hours),
        lambda b, a: rates_p(b, hours, a, hours),
        most=_MOST_EVENTS * 2,
    )


def _power_of_starts(before: float, after: float, starts: float) -> float:
    number = int(-(-starts // 1))
    return _power(
        lambda n: binomial_pmf(number, n, before),
        lambda n: binomial_pmf(number, n, after),
        lambda b, a: shares_p(b, number, a, number),
        most=number,
    )


def _power(
    before: Callable[[int], float],
    after: Callable[[int], float],
    p_value: Callable[[int, int], float],
    most: int,
) -> float:
    """Chance of the answer *better*: over all counts, which are few where rates are small.

    For each count before, the counts after that decide are those up to a largest one, and it does
    not fall when the count before rises.
    """
    total, largest, below = 0.0, -1, 0.0
    chances = [after(n) for n in range(most + 1)]
    for b in range(most + 1):
        chance = before(b)
        while largest + 1 <= min(b, most) and p_value(b, largest + 1) <= ALPHA:
            largest += 1
            below += chances[largest]
        if chance > _NEGLIGIBLE:
            total += chance * below
        elif total > 0 and b > largest + 1 and chance < _NEGLIGIBLE and below > 1 - _NEGLIGIBLE:
            break
    return total


def _p(test: Callable[[int, float, int, float], float] | Callable[..., float], c: Counts) -> float:
    if c.before + c.after == 0:
        return 1.0
    return min(1.0, test(c.before, c.exposure_before, c.after, c.exposure_after))


def _swapped(c: Counts) -> Counts:
    return Counts(c.after, c.exposure_after, c.before, c.exposure_before)
