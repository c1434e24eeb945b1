"""Sums jobs up: by cause, and by week."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from unhang.model.fleet import CauseCount, JobRecord, Week


def causes(jobs: Sequence[JobRecord]) -> tuple[CauseCount, ...]:
    """Failed jobs by cause, those that cost most first."""
    found: dict[str | None, list[JobRecord]] = {}
    for job in jobs:
        if job.failed:
            found.setdefault(job.cause, []).append(job)
    counts = (
        CauseCount(
            cause=cause,
            jobs=len(group),
            gpu_hours=sum(job.gpu_hours or 0.0 for job in group),
            waited_gpu_hours=sum(job.waited_gpu_hours or 0.0 for job in group),
        )
        for cause, group in found.items()
    )
    return tuple(sorted(counts, key=lambda c: (-c.jobs, -c.gpu_hours, c.cause or "")))


def weeks(jobs: Sequence[JobRecord]) -> tuple[Week, ...]:
    """ISO weeks in which a job began, the first one first."""
    found: dict[str, list[JobRecord]] = {}
    for job in jobs:
        if job.started is not None:
            year, week, _ = datetime.fromtimestamp(job.started, timezone.utc).isocalendar()
            found.setdefault(f"{year}-W{week:02}", []).append(job)
    return tuple(
        Week(week=name, jobs=len(group), failed=sum(job.failed for job in group))
        for name, group in sorted(found.items())
    )
