"""Which hosts, and which settings, failures recur at, beyond what chance explains.

A host that takes part in more jobs fails in more of them: what counts is its rate against the rate
of all others. Given the number of failures in all, those at one host are binomial with its share of
the exposure (Przyborowski and Wilenski, 1940); for settings, Fisher's exact test. All that could
have been named are tested, so p is corrected by Holm's method (1979): where nothing recurs, 19 of
20 such reports name nobody. A very bad host raises everybody's expectation, so those found are
taken out and the rest is tested again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from unhang.comparing.distributions import beta_cdf
from unhang.comparing.intervals import rate_ratio, shares_p
from unhang.model.causes import Cause
from unhang.model.fleet import JobRecord, Recurrence

ALPHA = 0.05
_LEAST_FAILURES = 2
"""One failure recurs nowhere."""

HOST_CAUSES = frozenset(
    {
        *(Cause.HOST_OOM, Cause.RANK_CRASH, Cause.BANDWIDTH_LOW, Cause.NET_INTERFACE),
        *(Cause.RDMA_FAULT, Cause.P2P_FAULT, Cause.SHM_SMALL, Cause.GPU_HARDWARE),
        *(Cause.GPU_KERNEL_FAULT, Cause.DEVICE_MAP, Cause.VERSION_MISMATCH, Cause.DATA_SLOW),
        *(Cause.CHECKPOINT_SLOW, Cause.COMPILE_SLOW),
    }
)
"""Causes that a bad host can have; an exception of the program is nobody's host."""


@dataclass(frozen=True, slots=True)
class Recurring:
    """What was found, among how many, and the unit of exposure."""

    found: tuple[Recurrence, ...]
    tested: int
    by: str


def recurring_hosts(jobs: Sequence[JobRecord]) -> Recurring:
    """Hosts that failures recur at; exposure is hours where every job tells them, else jobs."""
    jobs = [job for job in jobs if job.hosts]
    by_hours = bool(jobs) and all(job.hours for job in jobs)
    exposure: dict[str, float] = {}
    taken_part: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for job in jobs:
        for host in job.hosts:
            exposure[host] = exposure.get(host, 0.0) + (job.hours or 0.0 if by_hours else 1.0)
            taken_part[host] += 1
        if _at_a_host(job):
            failures.update(job.culprit_hosts)
    found: list[Recurrence] = []
    left = dict(exposure)
    while more := _worst(left, failures, taken_part):
        found += more
        for one in more:
            del left[one.name]
    return Recurring(tuple(found), len(exposure), "hours" if by_hours else "jobs")


def _at_a_host(job: JobRecord) -> bool:
    return job.failed and (job.cause is None or Cause(job.cause) in HOST_CAUSES)


def _worst(
    exposure: Mapping[str, float], failures: Counter[str], taken_part: Counter[str]
) -> list[Recurrence]:
    """Those whose corrected p is small, the smallest first."""
    total, whole = sum(failures[host] for host in exposure), sum(exposure.values())
    if not total or not whole:
        return []
    tails = {
        host: _binomial_tail(total, failures[host], exposure[host] / whole)
        for host in exposure
        if failures[host] >= _LEAST_FAILURES
    }
    return [
        Recurrence(
            name=host,
            failures=failures[host],
            jobs=taken_part[host],
            expected=total * exposure[host] / whole,
            ratio=rate_ratio(
                total - failures[host], whole - exposure[host], failures[host], exposure[host]
            )
            if whole > exposure[host]
            else rate_ratio(0, whole, failures[host], whole),
            p=p,
        )
        for host, p in _holm(tails, len(exposure))
    ]


def _binomial_tail(trials: int, hits: int, chance: float) -> float:
    """Probability of `hits` or more."""
    return 1.0 if hits == 0 else beta_cdf(hits, trials - hits + 1, chance)


def _holm(tails: Mapping[str, float], tested: int) -> Iterable[tuple[str, float]]:
    """Names with corrected p below `ALPHA`, the smallest first."""
    highest = 0.0
    for step, (name, tail) in enumerate(sorted(tails.items(), key=lambda kv: (kv[1], kv[0]))):
        highest = max(highest, min(1.0, tail * (tested - step)))
        if highest >= ALPHA:
            return
        yield name, highest


def recurring_settings(jobs: Sequence[JobRecord]) -> Recurring:
    """Values of settings with which jobs fail more often than without."""
    jobs = [job for job in jobs if job.settings]
    having: dict[str, list[JobRecord]] = {}
    for job in jobs:
        for name, values in job.settings.items():
            for value in values:
                having.setdefault(f"{name}={value}", []).append(job)
    failed = sum(job.failed for job in jobs)
    tails: dict[str, float] = {}
    counts: dict[str, tuple[int, int]] = {}
    for setting, group in having.items():
        if len(group) == len(jobs):
            continue
        hits = sum(job.failed for job in group)
        counts[setting] = hits, len(group)
        # "did not fall" without the setting: small where it fails more often with it
        tails[setting] = shares_p(hits, len(group), failed - hits, len(jobs) - len(group))
    found = tuple(
        Recurrence(
            name=setting,
            failures=counts[setting][0],
            jobs=counts[setting][1],
            expected=failed * counts[setting][1] / len(jobs),
            ratio=rate_ratio(
                failed - counts[setting][0],
                len(jobs) - counts[setting][1],
                counts[setting][0],
                counts[setting][1],
            ),
            p=p,
        )
        for setting, p in _holm(tails, len(tails))
    )
    return Recurring(found, len(tails), "jobs")
