"""Exact intervals for rates, shares and their ratios.

Sources: Garwood, "Fiducial Limits for the Poisson Distribution" (1936); Clopper and Pearson, "The
Use of Confidence or Fiducial Limits" (1934); for the ratio of two rates the conditional binomial,
Przyborowski and Wilenski (1940); for two shares Fisher's exact test (1935).
"""

from __future__ import annotations

from math import comb, exp, inf, lgamma, log

from unhang.comparing.distributions import beta_quantile, gamma_quantile
from unhang.model.comparison import Interval

LEVEL = 0.95
"""Of ten thousand such intervals at least 9,500 hold the truth."""


def rate(events: int, exposure: float, level: float = LEVEL) -> Interval:
    """Events per unit of exposure.

    Args:
        events: how many were counted.
        exposure: hours (or starts) that were watched; positive.
        level: of the interval.
    """
    tail = (1 - level) / 2
    low = 0.0 if events == 0 else gamma_quantile(events, tail) / exposure
    return Interval(events / exposure, low, gamma_quantile(events + 1, 1 - tail) / exposure)


def share(events: int, trials: int, level: float = LEVEL) -> Interval:
    """Share of trials with an event."""
    tail = (1 - level) / 2
    low = 0.0 if events == 0 else beta_quantile(events, trials - events + 1, tail)
    high = 1.0 if events == trials else beta_quantile(events + 1, trials - events, 1 - tail)
    return Interval(events / trials if trials else 0.0, low, high)


def rate_ratio(
    before: int, exposure_before: float, after: int, exposure_after: float, level: float = LEVEL
) -> Interval:
    """Rate after divided by rate before; below 1 is better.

    Given their sum, the events after are binomial: their share decides the ratio.
    """
    if before + after == 0:
        return Interval(1.0, 0.0, inf)
    of_all = share(after, before + after, level)
    scale = exposure_before / exposure_after

    def ratio(part: float) -> float:
        return inf if part >= 1 else part / (1 - part) * scale

    return Interval(ratio(of_all.estimate), ratio(of_all.low), ratio(of_all.high))


def rates_p(before: int, exposure_before: float, after: int, exposure_after: float) -> float:
    """One-sided exact p of "the rate did not fall"; small speaks for *better*."""
    total = before + after
    part = exposure_after / (exposure_before + exposure_after)
    return sum(binomial_pmf(total, i, part) for i in range(after + 1))


def shares_p(before: int, starts_before: float, after: int, starts_after: float) -> float:
    """One-sided p of Fisher's exact test of "the share did not fall"."""
    total, here, there = before + after, int(starts_after), int(starts_before)
    ways = comb(here + there, total)
    least = max(0, total - there)
    return sum(
        comb(here, i) * comb(there, total - i) / ways for i in range(least, min(after, here) + 1)
    )


def binomial_pmf(trials: int, hits: int, chance: float) -> float:
    """Probability of `hits` among `trials`."""
    if chance <= 0 or chance >= 1:
        return float(hits == (0 if chance <= 0 else trials))
    ways = lgamma(trials + 1) - lgamma(hits + 1) - lgamma(trials - hits + 1)
    return exp(ways + hits * log(chance) + (trials - hits) * log(1 - chance))
