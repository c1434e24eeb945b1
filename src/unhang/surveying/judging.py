"""Judges jobs by several workers; one that is killed costs only its job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from unhang.comparing.runs import hours_between, moment, read_record
from unhang.engine.gather import Gathered, gather
from unhang.engine.shards import Engine, map_shards
from unhang.errors import UnhangError
from unhang.model.diagnosis import Diagnosis
from unhang.model.fleet import JobRecord
from unhang.model.time import Clock
from unhang.planning.inputs import read_measured
from unhang.sources.discover import discover
from unhang.surveying.find import JobFiles

Judge = Callable[[Gathered], Diagnosis]
"""The verdict on what was read of a job."""

_YEARS = (946_684_800.0, 4_102_444_800.0)
"""2000 to 2100: a clock that was never set tells no time."""


def judge_jobs(
    jobs: Sequence[JobFiles], judge: Judge, engine: Engine | None = None
) -> Iterator[JobRecord]:
    """Yield the record of each job as it is there."""
    one = partial(judge_job, judge=judge)
    for job, record in map_shards(one, jobs, engine or Engine(), files=_local):
        yield record or _unjudged(job, "the process that judged it was killed (out of memory?)")


def _local(job: JobFiles) -> tuple[str, ...]:
    return tuple(path for path in job.paths if "://" not in path)


def judge_job(job: JobFiles, judge: Judge) -> JobRecord:
    """Read and judge one job; whatever goes wrong is in its record."""
    try:
        gathered = gather(discover(job.paths), engine=Engine())
        verdict = judge(gathered)
    except UnhangError as error:
        return _unjudged(job, str(error))
    except Exception as error:  # one job must not cost the others theirs
        return _unjudged(job, f"{type(error).__name__}: {error}"[:200])
    started, hours = _span(gathered)
    seen = {event.origin.host for event in gathered.events} - {None}
    record = JobRecord(
        name=job.name,
        paths=job.paths,
        fingerprint=job.fingerprint,
        outcome=verdict.outcome.value,
        cause=None if verdict.cause is None else verdict.cause.value,
        confidence=verdict.confidence,
        summary=verdict.to_line(),
        summaries={"zh": verdict.to_line("zh")},
        culprit_hosts=tuple(sorted(verdict.culprit_hosts)),
        hosts=tuple(sorted({*map(str, seen), *verdict.culprit_hosts})),
        world_size=verdict.coverage.world_size,
        started=started,
        hours=hours,
        waited_s=_waited_s(verdict),
    )
    return _as_recorded(record, Path(job.paths[0]))


def _unjudged(job: JobFiles, error: str) -> JobRecord:
    return JobRecord(
        name=job.name,
        paths=job.paths,
        fingerprint=job.fingerprint,
        outcome="undetermined",
        error=error,
    )


def _span(gathered: Gathered) -> tuple[float | None, float | None]:
    """The first dated fact, and the hours to the last one, on one clock."""
    by_clock: dict[Clock, list[float]] = {}
    for event in gathered.events:
        if event.at is not None and event.at.clock in (Clock.UTC, Clock.LOCAL):
            by_clock.setdefault(event.at.clock, []).append(event.at.seconds)
    if not by_clock:
        return None, None
    times = [t for t in max(by_clock.values(), key=len) if _YEARS[0] < t < _YEARS[1]]
    if not times:
        return None, None
    return min(times), (max(times) - min(times)) / 3600


def _waited_s(verdict: Diagnosis) -> float | None:
    sides = () if verdict.call is None else verdict.call.sides
    waited = [ms for side in sides if (ms := side.elapsed_ms or side.timeout_ms) is not None]
    return max(waited) / 1000 if waited else None


def _as_recorded(record: JobRecord, folder: Path) -> JobRecord:
    """What `unhang run` wrote of the job is exact."""
    try:
        run = read_record(folder)
    except UnhangError:
        return record
    began = moment(run.get("started"))
    measured = read_measured(folder)
    values: dict[str, set[str]] = {}
    for setting in () if measured is None else measured.settings:
        values.setdefault(setting.name, set()).add(setting.value)
    return replace(
        record,
        started=record.started if began is None else began.timestamp(),
        hours=hours_between(run.get("started"), run.get("ended")) or record.hours,
        world_size=record.world_size or (None if measured is None else measured.world_size),
        settings={name: tuple(sorted(told)) for name, told in values.items()},
    )
