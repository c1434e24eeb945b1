"""Intervals and p-values equal those of scipy, and hold the truth as often as they promise."""

from __future__ import annotations

import random

import pytest

from unhang.comparing.distributions import beta_cdf, gamma_cdf
from unhang.comparing.intervals import rate, rate_ratio, rates_p, share, shares_p

stats = pytest.importorskip("scipy.stats", reason="scipy is a test dependency")


@pytest.mark.parametrize("shape", [0.5, 1, 2, 5, 30, 200])
def test_gamma(shape: float) -> None:
    for x in (0.01, 0.5, 1, 3, 20, 150, 260):
        assert gamma_cdf(shape, x) == pytest.approx(stats.gamma.cdf(x, shape), abs=1e-11)


@pytest.mark.parametrize("a", [0.5, 1, 2, 5, 30, 200])
@pytest.mark.parametrize("b", [0.5, 1, 3, 17, 400])
def test_beta(a: float, b: float) -> None:
    for x in (0.001, 0.1, 0.5, 0.9, 0.999):
        assert beta_cdf(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-11)


@pytest.mark.parametrize("events", [0, 1, 2, 5, 17, 100])
def test_rate(events: int) -> None:
    got = rate(events, 10.0)
    low = 0 if events == 0 else stats.chi2.ppf(0.025, 2 * events) / 20
    assert got.low == pytest.approx(low, rel=1e-9)
    assert got.high == pytest.approx(stats.chi2.ppf(0.975, 2 * events + 2) / 20, rel=1e-9)


@pytest.mark.parametrize("events", [0, 1, 5, 17])
@pytest.mark.parametrize("more", [0, 1, 5, 300])
def test_share(events: int, more: int) -> None:
    if events + more == 0:
        return
    got, trials = share(events, events + more), events + more
    exact = stats.binomtest(events, trials).proportion_ci(method="exact")
    assert got.low == pytest.approx(exact.low)
    assert got.high == pytest.approx(exact.high)


@pytest.mark.parametrize("before", [0, 1, 4, 19])
@pytest.mark.parametrize("after", [0, 3, 9])
def test_p_values(before: int, after: int) -> None:
    fisher = stats.fisher_exact([[after, 20 - after], [before, 200 - before]], alternative="less")
    assert shares_p(before, 200, after, 20) == pytest.approx(fisher[1], abs=1e-10)
    if before + after:
        exact = stats.binomtest(after, before + after, 5 / 15, alternative="less")
        assert rates_p(before, 10, after, 5) == pytest.approx(exact.pvalue, abs=1e-10)


def test_the_interval_of_a_ratio_holds_the_truth() -> None:
    dice = random.Random(3)
    missed = trials = 0
    for _ in range(1_500):
        before = sum(dice.random() < 0.02 for _ in range(400))
        after = sum(dice.random() < 0.005 for _ in range(800))
        interval = rate_ratio(before, 400, after, 800)
        trials += 1
        missed += not interval.low <= 0.25 <= interval.high
    assert missed <= 0.05 * trials


@pytest.mark.parametrize("events", [0, 1, 3, 12, 80])
def test_rate_against_statsmodels(events: int) -> None:
    rates = pytest.importorskip(
        "statsmodels.stats.rates", reason="statsmodels is a test dependency"
    )
    low, high = rates.confint_poisson(events, 7.5, method="exact-c", alpha=0.05)
    got = rate(events, 7.5)
    assert (got.low, got.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("before", [1, 4, 19])
@pytest.mark.parametrize("after", [0, 3, 9])
def test_two_rates_against_statsmodels(before: int, after: int) -> None:
    rates = pytest.importorskip(
        "statsmodels.stats.rates", reason="statsmodels is a test dependency"
    )
    exact = rates.test_poisson_2indep(
        after, 5.0, before, 10.0, method="exact-cond", alternative="smaller"
    )
    assert rates_p(before, 10.0, after, 5.0) == pytest.approx(exact.pvalue, abs=1e-9)


@pytest.mark.parametrize(("events", "trials"), [(0, 4), (1, 7), (5, 20), (60, 100), (9, 9)])
def test_share_against_statsmodels(events: int, trials: int) -> None:
    proportion = pytest.importorskip(
        "statsmodels.stats.proportion", reason="statsmodels is a test dependency"
    )
    low, high = proportion.proportion_confint(events, trials, method="beta")
    got = share(events, trials)
    assert (got.low, got.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("mean", [0.3, 2.0, 15.0])
def test_the_interval_of_a_rate_holds_the_truth(mean: float) -> None:
    missed = sum(
        not (found := rate(count, 4.0)).low <= mean / 4 <= found.high
        for count in stats.poisson.rvs(mean, size=3_000, random_state=5)
    )
    assert missed <= 0.05 * 3_000


@pytest.mark.parametrize(("chance", "trials"), [(0.02, 12), (0.3, 10), (0.9, 25)])
def test_the_interval_of_a_share_holds_the_truth(chance: float, trials: int) -> None:
    missed = sum(
        not (found := share(int(count), trials)).low <= chance <= found.high
        for count in stats.binom.rvs(trials, chance, size=3_000, random_state=6)
    )
    assert missed <= 0.05 * 3_000
