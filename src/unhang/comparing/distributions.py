"""The few distributions that exact intervals need, from the standard library alone.

Series and continued fractions: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964),
6.5.29, 6.5.31 and 26.5.8; the continued fractions are evaluated by Lentz's method as modified by
Thompson and Barnett (1986). Quantiles by bisection: intervals need six digits, not speed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, lgamma, log

_SMALL = 1e-300
_PRECISE = 1e-15
_MOST_TERMS = 10_000
_HALVINGS = 200


def gamma_cdf(shape: float, x: float) -> float:
    """The regularised lower incomplete gamma function P(shape, x)."""
    if x <= 0:
        return 0.0
    scale = exp(shape * log(x) - x - lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        for i in range(1, _MOST_TERMS):
            term *= x / (shape + i)
            total += term
            if term < total * _PRECISE:
                break
        return min(1.0, total * scale)

    def step(i: int) -> tuple[float, float]:
        return -i * (i - shape), x + 2 * i + 1 - shape

    return max(0.0, 1 - scale / _lentz(x + 1 - shape, step))


def beta_cdf(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(b, a, 1 - x)
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a

    def step(i: int) -> tuple[float, float]:
        m = i // 2
        if i % 2:
            return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1.0

    return min(1.0, scale / _lentz(1.0, step))


def _lentz(first: float, step: Callable[[int], tuple[float, float]]) -> float:
    """`first + a1 / (b1 + a2 / (b2 + …))` for `step(i) = (a_i, b_i)`."""
    value = first or _SMALL
    up, down = value, 0.0
    for i in range(1, _MOST_TERMS):
        a, b = step(i)
        down = 1 / ((b + a * down) or _SMALL)
        up = (b + a / up) or _SMALL
        value *= up * down
        if abs(up * down - 1) < _PRECISE:
            break
    return value


@lru_cache(maxsize=1_024)
def gamma_quantile(shape: float, share: float) -> float:
    """The x with P(shape, x) = share."""
    high = shape + 1
    while gamma_cdf(shape, high) < share:
        high *= 2
    return _solve(lambda x: gamma_cdf(shape, x), share, high)


@lru_cache(maxsize=1_024)
def beta_quantile(a: float, b: float, share: float) -> float:
    """The x with I_x(a, b) = share."""
    return _solve(lambda x: beta_cdf(a, b, x), share, 1.0)


def _solve(rising: Callable[[float], float], share: float, high: float) -> float:
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if rising(middle) < share:
            low = middle
        else:
            high = middle
        if high - low <= 1e-13 * high:
            break
    return (low + high) / 2


def poisson_pmf(count: int, mean: float) -> float:
    """Probability of `count` events where `mean` are expected."""
    if mean == 0:
        return 1.0 if count == 0 else 0.0
    return exp(count * log(mean) - mean - lgamma(count + 1))
