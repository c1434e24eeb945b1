"""From what is already there to a part of a request: a configuration, a verdict, a run folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from unhang.architectures import decode
from unhang.errors import UsageError
from unhang.model.codec import decode as decode_record
from unhang.model.measurements import RunMeasurements
from unhang.planning.config_files import parse_file
from unhang.planning.configs import read_config

_MOST_BYTES = 10 << 20
_RUN_PHASES = {"save": "save_s", "eval": "eval_s", "data": "prepare_s"}


def read_inputs(path: Path) -> dict[str, Any]:
    """Read what a file or folder tells of a job, as fields of a request.

    Args:
        path: a framework's configuration (YAML, JSON, TOML, or a script that launches it), a
            verdict (`unhang diagnose --format json`), a check (`unhang check --format json`), or a
            run folder of `unhang run`.

    Returns:
        Fields of `Request` by name, `model` as a name or path; and `save_s`, the longest save that
        a run has shown.

    Raises:
        UsageError: the path cannot be read, or is none of these.
    """
    if path.is_dir():
        if not (path / "events.jsonl").exists():
            raise UsageError(f"{path} is not a run folder: it holds no events.jsonl")
        return _from_run(path)
    data = parse_file(path)
    if str(data.get("schema", "")).startswith("unhang.diagnosis/"):
        return _from_verdict(data)
    if str(data.get("schema", "")).startswith("unhang.check/"):
        return _from_check(path, data)
    return read_config(path, data)


def phase_durations(events: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Seconds of each phase in a run's events: from its line to the next one of the same ranks."""
    begun: dict[str, tuple[str, datetime]] = {}
    found: dict[str, list[float]] = {}
    for event in events:
        at = _time(event.get("at"))
        if event.get("kind") != "phase" or at is None:
            continue
        ranks, phase = str(event.get("ranks", "")), str(event.get("phase"))
        if ranks in begun:
            name, since = begun[ranks]
            found.setdefault(name, []).append(max(0.0, (at - since).total_seconds()))
        begun[ranks] = (phase, at)
    return found


def read_measured(folder: Path) -> RunMeasurements | None:
    """What a run measured of itself; None where it left nothing that can be read."""
    try:
        with (folder / "measured.json").open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
        return decode_record(RunMeasurements, data)
    except (OSError, ValueError, RecursionError):
        return None


def json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Objects of a file of JSON lines; a line that is none is left out, as one that was cut."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                data = _object(line)
                if data is not None:
                    yield data
    except OSError:
        return


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _time(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _from_run(path: Path) -> dict[str, Any]:
    """The longest of each phase that was measured, and the world."""
    longest = {
        phase: max(times)
        for phase, times in phase_durations(json_lines(path / "events.jsonl")).items()
    }
    measured = read_measured(path)
    found: dict[str, Any] = {}
    if measured is not None:
        longest |= {p.phase.value: p.longest_s for p in measured.phases}
        found |= {} if measured.world_size is None else {"world": measured.world_size}
    return found | {_RUN_PHASES[p]: s for p, s in longest.items() if p in _RUN_PHASES and s > 0}


def _from_check(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Speeds of the storage, and memory, of the host that has least."""
    fields = {"one_writer": "write_speed", "all_writers": "write_speed_total",
              "total_bytes": "host_memory"}  # fmt: skip
    found: dict[str, Any] = {}
    stages = data.get("stages")
    for stage in stages if isinstance(stages, list) else ():
        measured = stage.get("measured") if isinstance(stage, dict) else None
        for name, value in measured.items() if isinstance(measured, dict) else ():
            if name in fields and isinstance(value, int) and value > 0:
                field = fields[name]
                found[field] = min(value, found.get(field, value))
    if "write_speed_total" in found:
        found["write_speed_total"] = max(found["write_speed_total"], found.get("write_speed", 0))
    if not found:
        raise UsageError(f"{path} measured neither storage nor memory: `check --checkpoint DIR`")
    return found


def _from_verdict(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    coverage, call, framework = map(data.get, ("coverage", "call", "framework"))
    if isinstance(coverage, dict) and isinstance(coverage.get("world_size"), int):
        found["world"] = coverage["world_size"]
    if isinstance(framework, dict) and isinstance(framework.get("name"), str):
        found["framework"] = framework["name"]
    if isinstance(call, dict):
        sizes = [call.get(name) for name in ("numel_in", "numel_out")]
        numel_in, numel_out = (n if isinstance(n, int) else None for n in sizes)
        readings = decode(str(call.get("op")), numel_in, numel_out)
        if len(readings) == 1 and len(readings[0].models) == 1:
            found["model"] = readings[0].models[0]
    return found
