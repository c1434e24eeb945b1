"""What is known of many jobs: a record of each, and what recurs among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.comparison import Interval
from unhang.model.provenance import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One job and its verdict: a row of `jobs.jsonl` and `jobs.parquet`.

    Attributes:
        name: what its files have in common, below the folder that was given.
        fingerprint: of its files' names, sizes and times, and of the release that judged them.
        outcome, cause, confidence, summary: as in the verdict.
        summaries: the summary in other languages, by language.
        error: why there is no verdict, or None.
        culprit_hosts: hosts of the guilty ranks.
        hosts: all hosts of the job that are known.
        world_size: ranks, or None.
        started: Unix time of the first dated fact, or None.
        hours: from the first to the last, or None.
        waited_s: how long the ranks waited in the call that gave up, at least; None = unknown.
        settings: environment of the job, as far as `unhang run` recorded it.
    """

    name: str
    paths: tuple[str, ...]
    fingerprint: str
    outcome: str
    cause: str | None = None
    confidence: float = 0.0
    summary: str = ""
    summaries: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    culprit_hosts: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    world_size: int | None = None
    started: float | None = None
    hours: float | None = None
    waited_s: float | None = None
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether it failed by itself: a stop from outside is no failure."""
        return self.outcome in ("cause", "located") and self.cause != "external_stop"

    @property
    def gpu_hours(self) -> float | None:
        """Ranks times hours."""
        known = self.hours is not None and self.world_size is not None
        return self.hours * self.world_size if known else None  # type: ignore[operator]

    @property
    def waited_gpu_hours(self) -> float | None:
        """Ranks times the hours for which they waited in vain."""
        known = self.waited_s is not None and self.world_size is not None
        return self.waited_s * self.world_size / 3600 if known else None  # type: ignore[operator]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A host (or a setting) at which more jobs failed than chance explains.

    Attributes:
        name: of the host, or `NAME=VALUE`.
        failures: jobs that failed at it.
        jobs: jobs that it took part in.
        expected: failures that its share of the exposure would bring.
        ratio: its rate of failures divided by that of all others, with the exact interval.
        p: one-sided exact p, corrected for all that were tested (Holm).
    """

    name: str
    failures: int
    jobs: int
    expected: float
    ratio: Interval
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCount:
    """Jobs with one cause: `cause` None for failures whose cause is not known."""

    cause: str | None
    jobs: int
    gpu_hours: float
    waited_gpu_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """One ISO week, by the start of the jobs: `2026-W47`."""

    week: str
    jobs: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All jobs. Field by field the JSON contract `unhang.fleet/1`.

    Attributes:
        judged: how many were read now; the others are as they were before.
        by: what a host's exposure is counted in: "hours" where every job tells them, else "jobs".
        hosts_tested: hosts that took part in any job.
        settings_tested: values of settings that some jobs had and others had not.
        new_failures: names of jobs that failed, and had not, or not so, at the last survey.
    """

    jobs: tuple[JobRecord, ...]
    judged: int
    causes: tuple[CauseCount, ...]
    weeks: tuple[Week, ...]
    by: str
    hosts: tuple[Recurrence, ...]
    hosts_tested: int
    settings: tuple[Recurrence, ...]
    settings_tested: int
    problems: tuple[Problem, ...] = ()
    new_failures: tuple[str, ...] = ()
