"""From the facts of runs to the figures of one side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil
from statistics import median, median_low

from unhang.comparing.intervals import rate, share
from unhang.model.comparison import RunFacts, Side


def sum_up(runs: Sequence[RunFacts]) -> Side:
    """Count and time one side; `runs` is not empty."""
    failures = sum(run.failed for run in runs)
    hangs = sum(run.hung for run in runs)
    hours = total_hours(runs)
    return Side(
        runs=len(runs),
        failures=failures,
        hangs=hangs,
        hours=hours,
        per_hour=rate(failures, hours) if hours else None,
        per_start=share(failures, len(runs)),
        hangs_per_start=share(hangs, len(runs)),
        median_hours=median_to_failure(runs),
        causes=dict(Counter(run.cause for run in runs if run.failed and run.cause).most_common()),
        phases=_phases(runs),
        steps=_steps(runs),
        saves=_saves(runs),
        bandwidth=_bandwidth(runs),
    )


def total_hours(runs: Iterable[RunFacts]) -> float | None:
    """Hours watched, or None where a run does not tell."""
    hours = [run.hours for run in runs]
    return None if None in hours else sum(h for h in hours if h is not None)


def median_to_failure(runs: Iterable[RunFacts]) -> float | None:
    """Kaplan-Meier median of the hours to a failure; runs that ended otherwise are censored.

    Source: Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations" (1958). None
    where fewer than half of the runs are known to fail.
    """
    times = sorted((run.hours, not run.failed) for run in runs if run.hours is not None)
    alive = 1.0
    for i, (hours, censored) in enumerate(times):
        if not censored:
            alive *= 1 - 1 / (len(times) - i)
            if alive <= 0.5 + 1e-12:
                return hours
    return None


def _phases(runs: Iterable[RunFacts]) -> dict[str, tuple[float, float]]:
    found: dict[str, list[float]] = {}
    for run in runs:
        for name, values in run.phases_s.items():
            found.setdefault(name, []).extend(values)
    spreads = {name: _spread(values) for name, values in sorted(found.items())}
    return {name: spread for name, spread in spreads.items() if spread is not None}


def _steps(runs: Iterable[RunFacts]) -> tuple[float, float] | None:
    steps = [run.steps for run in runs if run.steps is not None]
    if not steps:
        return None
    return median_low(s.median_s for s in steps), median_low(s.p99_s for s in steps)


def _saves(runs: Iterable[RunFacts]) -> tuple[int, float, float] | None:
    saves = [save for run in runs for save in run.saves]
    if not saves:
        return None
    size, seconds = median(s.size_bytes for s in saves), median(s.seconds for s in saves)
    return len(saves), size, seconds


def _bandwidth(runs: Iterable[RunFacts]) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for run in runs:
        for size, speed in run.bandwidth.items():
            found.setdefault(size, []).append(speed)
    return {size: median(speeds) for size, speeds in sorted(found.items())}


def _spread(values: Sequence[float]) -> tuple[float, float] | None:
    """Median and 99th percentile (nearest rank)."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2], ordered[ceil(0.99 * len(ordered)) - 1]
