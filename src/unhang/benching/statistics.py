"""From runs of two variants in turns to an interval of their ratio, and to an answer.

The two runs of a turn follow each other and meet the same neighbours on the network: their ratio is
taken, not that of two averages. The mean of the logarithms of the ratios has a t interval (Student,
"The Probable Error of a Mean", 1908).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, inf, log, sqrt
from statistics import fmean, stdev

from unhang.comparing.distributions import beta_quantile
from unhang.model.bench import Speed
from unhang.model.comparison import Interval

LEVEL = 0.95
MATTERS = 0.05
"""A difference of this share is worth a setting; an interval within it shows that there is none."""
_MOST_RUNS = 10_000


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """What |t| does not exceed with that probability.

    >>> round(t_quantile(4), 3)
    2.776
    """
    x = beta_quantile(freedom / 2, 0.5, 1 - level)
    return sqrt(freedom * (1 - x) / x)


def ratio(before_s: Sequence[float], after_s: Sequence[float], level: float = LEVEL) -> Interval:
    """By how much the second is faster, by turns; `inf` wide with one turn.

    Args:
        before_s: seconds of each turn.
        after_s: likewise, in the same order.
        level: of the interval.
    """
    logs = [log(one / other) for one, other in zip(before_s, after_s, strict=True)]
    middle = fmean(logs)
    if len(logs) < 2:
        return Interval(exp(middle), 0.0, inf)
    reach = t_quantile(len(logs) - 1, level) * stdev(logs) / sqrt(len(logs))
    return Interval(exp(middle), exp(middle - reach), exp(middle + reach))


def decide(
    before_s: Sequence[float], after_s: Sequence[float]
) -> tuple[Speed, Interval, int | None]:
    """The answer, its interval, and how many turns would show a difference of 5 %."""
    found = ratio(before_s, after_s)
    if found.low > 1:
        return Speed.FASTER, found, None
    if found.high < 1:
        return Speed.SLOWER, found, None
    if found.low > 1 / (1 + MATTERS) and found.high < 1 + MATTERS:
        return Speed.NO_DIFFERENCE, found, None
    return Speed.MORE_RUNS, found, needed(before_s, after_s)


def needed(before_s: Sequence[float], after_s: Sequence[float]) -> int:
    """Turns after which the interval reaches no further than 5 % to each side."""
    logs = [log(one / other) for one, other in zip(before_s, after_s, strict=True)]
    if len(logs) < 2:
        return 5  # fewer tell nothing of how they vary
    spread = stdev(logs)
    runs = len(logs)
    while runs < _MOST_RUNS and t_quantile(runs - 1) * spread / sqrt(runs) > log(1 + MATTERS):
        runs = max(runs + 1, ceil(runs * 1.1))
    return runs
