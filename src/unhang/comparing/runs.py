"""From run folders, verdicts, logs and job tables to the facts of each run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from unhang.engine.gather import gather
from unhang.engine.shards import Engine
from unhang.errors import UnhangError, UsageError
from unhang.model.comparison import RunFacts
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import BandwidthMeasured, Event, SettingSeen
from unhang.model.ids import Rank
from unhang.model.measurements import RankSetting
from unhang.model.provenance import Problem
from unhang.planning.inputs import json_lines, phase_durations, read_measured
from unhang.sources.discover import discover

Judge = Callable[[str], tuple[Diagnosis, Sequence[Event]]]
"""Judges a path, as `unhang.diagnose` does, and says what was read there."""

_HUNG = frozenset({"hang_confirmed"})
_STOPPED = frozenset({"external_stop"})
_COLUMNS = ("name", "hours", "started", "ended", "failed", "hang", "cause")
_TRUE = frozenset({"1", "true", "yes", "failed", "failure", "hang", "timeout", "error"})
_FALSE = frozenset({"", "0", "false", "no", "ok", "completed", "success", "healthy", "running"})
_TABLES = frozenset({".csv", ".tsv", ".jsonl"})


def read_runs(paths: Iterable[str], judge: Judge) -> tuple[list[RunFacts], list[Problem]]:
    """Read one side of a comparison.

    Args:
        paths: run folders, folders of run folders, tables of jobs (CSV, TSV, JSON lines), verdicts
            (`unhang diagnose --format json`), or logs of one run each.
        judge: used for logs only.

    Returns:
        The runs, and what could not be read; one unreadable path costs only itself.

    Raises:
        UsageError: nothing could be read.
    """
    found: list[RunFacts] = []
    problems: list[Problem] = []
    for path in paths:
        found += _guarded(path, judge, problems)
    if not found:
        why = problems[0].message if problems else "nothing was given"
        raise UsageError(f"no run to compare: {why}")
    return found, problems


def _guarded(path: str, judge: Judge, problems: list[Problem]) -> list[RunFacts]:
    try:
        return list(_read(Path(path), judge))
    except UnhangError as error:
        problems.append(Problem(artifact=path, component="compare", message=str(error)))
        return []


def _read(path: Path, judge: Judge) -> Iterator[RunFacts]:
    if not path.exists():
        raise UsageError(f"{path} does not exist; expected a run folder, a table of jobs or logs")
    if path.is_dir():
        folders = [path] if (path / "run.json").exists() else _folders_in(path)
        if folders:
            yield from (_run_folder(folder) for folder in folders)
        else:
            yield _judged(str(path), judge)
    elif path.suffix in _TABLES:
        yield from _table(path)
    elif path.suffix == ".json" and (facts := _verdict_file(path)) is not None:
        yield facts
    else:
        yield _judged(str(path), judge)


def _folders_in(path: Path) -> list[Path]:
    return sorted(record.parent for record in path.glob("*/run.json"))


def _events_of(output: Path) -> Sequence[Event]:
    """What the job printed, as far as it is understood; nothing where nothing was kept."""
    try:
        return gather(discover((str(output),)), engine=Engine()).events
    except UnhangError:
        return ()


def _run_folder(folder: Path) -> RunFacts:
    record = read_record(folder)
    events = list(json_lines(folder / "events.jsonl"))
    kinds = {str(event.get("kind")) for event in events}
    exits: list[Mapping[str, Any]] = [e for e in events if e.get("kind") == "exited"]
    last = exits[-1] if exits else {}
    cause = last.get("cause")
    stopped = cause in _STOPPED
    hung = bool(kinds & _HUNG) and "exited" in kinds
    exit_code = record.get("exit_code")
    failed = not stopped and exit_code not in (0, None)
    phases = {name: tuple(values) for name, values in phase_durations(events).items()}
    measured = read_measured(folder)
    seen = _events_of(folder / "output")
    return RunFacts(
        name=folder.name,
        hours=hours_between(record.get("started"), record.get("ended") or last.get("at")),
        failed=failed,
        hung=hung and failed,
        cause=cause if isinstance(cause, str) else None,
        phases_s=phases
        if measured is None
        else {p.phase.value: p.latest_s for p in measured.phases},
        settings=() if measured is None else measured.settings,
        world_size=None if measured is None else measured.world_size,
        steps=None if measured is None else measured.steps,
        saves=() if measured is None else measured.saves,
        printed=tuple(_printed(seen)),
        bandwidth=_bandwidth(seen),
    )


def _printed(events: Iterable[Event]) -> Iterator[RankSetting]:
    """What NCCL said that it had read, by rank where its line tells whose it is."""
    found: dict[tuple[str, str], set[Rank]] = {}
    for event in events:
        if isinstance(event, SettingSeen) and event.basis == "NCCL_DEBUG=INFO":
            ranks = found.setdefault((event.name, event.value), set())
            ranks.update(() if event.origin.rank is None else (event.origin.rank,))
    for (name, value), ranks in sorted(found.items()):
        yield RankSetting(name=name, value=value, ranks=frozenset(ranks))


def _bandwidth(events: Iterable[Event]) -> dict[int, float]:
    """Median bytes per second by size, of the rows of nccl-tests and the like."""
    found: dict[int, list[float]] = {}
    for event in events:
        if isinstance(event, BandwidthMeasured) and event.size_bytes:
            found.setdefault(event.size_bytes, []).append(event.busbw_gbps * 1e9)
    return {size: median(speeds) for size, speeds in found.items()}


def _judged(path: str, judge: Judge) -> RunFacts:
    verdict, seen = judge(path)
    printed = tuple(_printed(seen))
    facts = _facts_of(path, verdict)
    return replace(facts, printed=printed, settings=printed, bandwidth=_bandwidth(seen))


def _facts_of(name: str, verdict: Diagnosis) -> RunFacts:
    failed = verdict.outcome in (Outcome.CAUSE, Outcome.LOCATED) or verdict.call is not None
    cause = None if verdict.cause is None else verdict.cause.value
    return RunFacts(
        name=name,
        hours=None,
        failed=failed and cause not in _STOPPED,
        hung=verdict.call is not None,
        cause=cause,
    )


def _verdict_file(path: Path) -> RunFacts | None:
    """A verdict that `diagnose` printed, or None where it is another JSON."""
    data = _json(path)
    if data.get("schema") != "unhang.diagnosis/1":
        return None
    cause = data.get("cause")
    failed = data.get("outcome") in ("cause", "located") or data.get("call") is not None
    return RunFacts(
        name=path.name,
        hours=None,
        failed=failed and cause not in _STOPPED,
        hung=data.get("call") is not None,
        cause=cause if isinstance(cause, str) else None,
    )


def _table(path: Path) -> Iterator[RunFacts]:
    for number, row in enumerate(_rows(path), start=1):
        unknown = set(row) - set(_COLUMNS)
        if "failed" not in row or unknown:
            wrong = f"column {min(unknown)!r} is unknown" if unknown else "there is no `failed`"
            raise UsageError(f"{path}:{number}: {wrong}; expected {', '.join(_COLUMNS)}")
        hang = _truth(row.get("hang", ""), f"{path}:{number}: hang")
        yield RunFacts(
            name=str(row.get("name") or f"{path.name}:{number}"),
            hours=_hours_of(row, f"{path}:{number}"),
            failed=hang or _truth(row["failed"], f"{path}:{number}: failed"),
            hung=hang,
            cause=str(row["cause"]) if row.get("cause") else None,
        )


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix == ".jsonl":
        yield from json_lines(path)
        return
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    delimiter = "\t" if path.suffix == ".tsv" else ","
    try:
        for row in csv.DictReader(text.splitlines(), delimiter=delimiter):
            yield {
                str(k).strip().lower(): (v or "").strip() for k, v in row.items() if k is not None
            }
    except csv.Error as error:
        raise UsageError(
            f"{path} is not a table of jobs: {error}; expected {', '.join(_COLUMNS)}"
        ) from error


def _hours_of(row: Mapping[str, Any], where: str) -> float | None:
    given = row.get("hours")
    if given in (None, ""):
        return hours_between(row.get("started"), row.get("ended"))
    try:
        hours = float(given)
    except (TypeError, ValueError):
        hours = -1.0
    if not 0 <= hours < 1e7:
        raise UsageError(f"{where}: hours is {str(given)[:40]!r}; expected a number such as 12.5")
    return hours


def _truth(value: object, where: str) -> bool:
    word = str(value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise UsageError(f"{where} is {word[:40]!r}; expected 1 or 0")
    return word in _TRUE


def read_record(folder: Path) -> Mapping[str, Any]:
    """What `unhang run` wrote of a run: when it began and ended, and how.

    Raises:
        UsageError: it cannot be read.
    """
    return _json(folder / "run.json")


def hours_between(start: object, end: object) -> float | None:
    """Hours between two ISO times; None where one is none, or only one has a zone."""
    first, last = moment(start), moment(end)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
        return None
    return max(0.0, (last - first).total_seconds() / 3600)


def moment(text: object) -> datetime | None:
    """An ISO time, or None."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def _json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {str(error)[:120]}") from error
    return data if isinstance(data, dict) else {}
