"""From the leftovers of many jobs to what fails, how often, and where it recurs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from unhang.engine.shards import Engine
from unhang.model.fleet import Fleet
from unhang.surveying.find import find_jobs
from unhang.surveying.judging import Judge, judge_jobs
from unhang.surveying.recurrence import recurring_hosts, recurring_settings
from unhang.surveying.sacct import Accounting, told_by
from unhang.surveying.store import Store
from unhang.surveying.summary import causes, weeks

__all__ = ["Accounting", "Judge", "survey"]


def survey(
    roots: Iterable[str],
    judge: Judge,
    *,
    store: Path,
    depth: int = 1,
    engine: Engine | None = None,
    accounting: Accounting | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Fleet:
    """Judge every job below `roots` that has changed since the last time, and sum all up.

    Args:
        roots: folders of jobs, or URLs of them.
        judge: see `judge_jobs`; it must be importable by its name, for other processes call it.
        store: folder that keeps `jobs.jsonl`; what stands there and has not changed is not read.
        depth: see `find_jobs`.
        engine: who judges; None = this process.
        accounting: what the scheduler knows of hosts and hours.
        progress: is told the jobs that are done, and how many there are.

    Raises:
        UsageError: a root is no folder, there is no job, or the store cannot be written.
    """
    jobs, problems = find_jobs(roots, depth)
    with Store(store) as kept:
        known = kept.failures()
        fresh = [job for job in jobs if not kept.holds(job)]
        progress(len(jobs) - len(fresh), len(jobs))
        for done, record in enumerate(judge_jobs(fresh, judge, engine), start=1):
            kept.add(record)
            progress(len(jobs) - len(fresh) + done, len(jobs))
        records = tuple(kept.records(jobs))
        kept.leave_only(records)
    if accounting is not None:
        records = tuple(told_by(accounting, record) for record in records)
    hosts = recurring_hosts(records)
    settings = recurring_settings(records)
    return Fleet(
        jobs=records,
        judged=len(fresh),
        causes=causes(records),
        weeks=weeks(records),
        by=hosts.by,
        hosts=hosts.found,
        hosts_tested=hosts.tested,
        settings=settings.found,
        settings_tested=settings.tested,
        problems=tuple(problems),
        new_failures=tuple(r.name for r in records if r.failed and (r.name, r.cause) not in known),
    )
