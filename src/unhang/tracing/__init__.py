"""From whatever tells times (dumps, run folders, profiles, logs) to one trace of a job."""

from __future__ import annotations

import contextlib
import glob
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from unhang.api import examine
from unhang.errors import ArtifactError, UnhangError, UsageError
from unhang.live.run_folder.layout import RunFolder
from unhang.model.activity import Activity, ActivityBasis, ActivityMap, ActivitySpan, fold_spans
from unhang.model.ids import Rank
from unhang.model.incident import Incident
from unhang.model.provenance import Problem
from unhang.model.time import Clock
from unhang.model.trace import ClockOffset, Moment, Slice, SliceKind, Trace
from unhang.parsers.recorder.calls import read_calls
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover
from unhang.sources.run_folder import is_run_folder
from unhang.tracing import logged
from unhang.tracing.clocks import align, shifted
from unhang.tracing.foreign import read_foreign
from unhang.tracing.recorded_run import read_run

__all__ = ["activity_of", "make_trace", "timeline"]

_MOST_CALLS = 4_000_000
"""Calls of all dumps together; of each rank the last ones are kept."""
_MOST_FILES = 20_000
_ZONE_S = 900
"""Time zones differ by quarters of an hour."""


def timeline(*paths: str) -> Trace:
    """Read everything that tells when ranks did something.

    Args:
        paths: Flight Recorder dumps, run folders, profiles of torch.profiler, timelines of Ray,
            logs of NCCL Inspector, logs with times, or folders and archives of them.

    Returns:
        Slices by rank and track, on one clock; `unhang.tracing.perfetto.encode_trace` writes them.

    Raises:
        UsageError: a path does not exist, or nothing there tells a time.
    """
    missing = [path for path in paths if not glob.has_magic(path) and not Path(path).exists()]
    if missing:
        raise UsageError(f"{missing[0]} does not exist; name a file or a folder that tells times")
    try:
        incident = examine(*paths, processes=None)[1]
    except UnhangError:  # profiles are no logs
        incident = None
    return make_trace(paths, incident)


def make_trace(paths: Sequence[str], incident: Incident | None = None) -> Trace:
    """Read everything that tells times.

    Args:
        paths: dumps, run folders, profiles, logs, or folders and archives of them.
        incident: what the logs among them tell, where somebody has read them.

    Raises:
        UsageError: nothing there tells a time.
    """
    told = _Told()
    for path in paths:
        if is_run_folder(path):
            slices, moments = read_run(RunFolder(Path(path)))
            told.states += slices
            told.moments += moments
    told.problems += _read_files(paths, told)
    told.problems += _read_dumps(paths, told)
    told.calls, clocks = _aligned(told.calls)
    dated = bool(told.calls or told.states or told.foreign)
    logs: list[Slice] = []
    if incident is not None and (clock := logged.clock_of(incident)) is not None:
        logs, moments, problem = _from_logs(incident, clock, told.calls, dated=dated)
        told.moments += moments
        told.problems += problem
        dated = dated or clock in (Clock.UTC, Clock.LOCAL)
    slices = [*told.states, *told.calls, *told.foreign, *logs]
    if not slices:
        raise UsageError(
            f"found no start and end times in {', '.join(paths)}; give Flight"
            " Recorder dumps, a run folder of `unhang run`, profiles of torch.profiler, a timeline"
            " of Ray, logs of NCCL Inspector, or logs with times"
        )
    ends = [s.begin_s if s.end_s is None else s.end_s for s in slices]
    end = max((*ends, *(m.at_s for m in told.moments)))
    if any(s.end_s is None for s in slices):  # so that what is open can be seen
        end += max(1.0, (end - min(s.begin_s for s in slices)) / 20)
    return Trace(
        slices=tuple(slices),
        moments=tuple(told.moments),
        clocks=clocks,
        end_s=end,
        basis=_basis(told),
        dated=dated,
        problems=tuple(told.problems),
    )


def activity_of(trace: Trace) -> ActivityMap | None:
    """Return what a heatmap shows of a trace; None where no rank or no duration is known in it."""
    if trace.basis is ActivityBasis.LOG and all(s.end_s is None for s in trace.slices):
        return None
    by_rank: dict[Rank, list[ActivitySpan]] = defaultdict(list)
    seen: dict[Rank, list[tuple[float, float]]] = defaultdict(list)
    preferred = {s.rank for s in trace.slices if s.kind is SliceKind.STATE}
    for one in trace.slices:
        if one.rank is None or one.activity is None:
            continue
        if one.rank in preferred and one.kind is not SliceKind.STATE:
            continue
        end = trace.end_s if one.end_s is None else one.end_s
        by_rank[one.rank].append(ActivitySpan(one.begin_s, end, one.activity))
        seen[one.rank].append((one.begin_s, end))
    if trace.basis is ActivityBasis.RECORDER:
        last = max((end for spans in seen.values() for _, end in spans), default=0.0)
        for rank, spans in seen.items():
            by_rank[rank] += _between(spans, last)
    return fold_spans(by_rank, trace.basis, dated=trace.dated)


@dataclass(slots=True)
class _Told:
    """What was read, by kind."""

    states: list[Slice] = field(default_factory=list)
    calls: list[Slice] = field(default_factory=list)
    foreign: list[Slice] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def _read_files(paths: Iterable[str], told: _Told) -> Iterator[Problem]:
    """Timelines of other programs; other files are left to others."""
    for path in _files(paths):
        try:
            found = read_foreign(path)
            if found is not None:
                told.foreign += found
        except (ArtifactError, OSError) as error:  # noqa: PERF203 - each costs only itself
            yield Problem(artifact=str(path), component="timeline", message=str(error))


def _files(paths: Iterable[str]) -> Iterator[Path]:
    for name in paths:
        path = Path(name)
        if path.is_file():
            yield path
        elif path.is_dir() and not is_run_folder(name):
            found = (
                p
                for p in path.rglob("*")
                if p.name.endswith((".json", ".json.gz", ".jsonl", ".log"))
            )
            yield from sorted(
                p for _, p in zip(range(_MOST_FILES), found, strict=False) if p.is_file()
            )


def _read_dumps(paths: Iterable[str], told: _Told) -> Iterator[Problem]:
    paths = tuple(paths)
    most = max(16, _MOST_CALLS // max(1, sum(1 for _ in _dumps(paths))))
    for artifact in _dumps(paths):  # members of archives can be read now or never
        try:
            told.calls += read_calls(artifact, most)
        except (UnhangError, OSError) as error:  # noqa: PERF203 - each costs only itself
            yield Problem(artifact=artifact.name, component="timeline", message=str(error))


def _dumps(paths: Iterable[str]) -> Iterator[Artifact]:
    with contextlib.suppress(UnhangError):
        yield from (a for a in discover(paths) if isinstance(a, Artifact) and a.dump is not None)


def _aligned(calls: list[Slice]) -> tuple[list[Slice], tuple[ClockOffset, ...]]:
    moved, clocks = align(calls)
    return list(moved), clocks


def _from_logs(
    incident: Incident, clock: Clock, calls: Sequence[Slice], *, dated: bool
) -> tuple[list[Slice], list[Moment], list[Problem]]:
    """Logs on the clock of what is dated: by its zone, or by a wait that both tell."""
    slices, moments = logged.slices_of(incident, clock), logged.moments_of(incident, clock)
    if not dated or clock is Clock.UTC:
        return slices, moments, []
    begun = {(s.rank, s.name.rpartition("#")[2]): s.begin_s for s in calls if s.end_s is None}
    gaps = [
        begun[s.rank, number] - s.begin_s
        for s in slices
        if s.call is not None and (s.rank, number := s.call.number) in begun
    ]
    if not gaps:
        problem = Problem(
            artifact="",
            component="timeline",
            message="the times in the logs have no time zone, and no wait appears in both logs and"
            " dumps: the logs were left out of the timeline",
        )
        return [], [], [problem]
    shift = round(median(gaps) / _ZONE_S) * _ZONE_S
    later = [replace(moment, at_s=moment.at_s + shift) for moment in moments]
    return [shifted(one, shift) for one in slices], later, []


def _between(spans: Sequence[tuple[float, float]], last: float) -> Iterator[ActivitySpan]:
    """The time between calls, and after the last one if that one was done."""
    reached: float | None = None
    for begin, end in sorted(spans):
        if reached is not None and begin > reached:
            yield ActivitySpan(reached, begin, Activity.WORK)
        reached = end if reached is None else max(reached, end)
    if reached is not None and reached < last:
        yield ActivitySpan(reached, last, Activity.WORK)


def _basis(told: _Told) -> ActivityBasis:
    if told.states:
        return ActivityBasis.RUN
    return ActivityBasis.RECORDER if told.calls or told.foreign else ActivityBasis.LOG
