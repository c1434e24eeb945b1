"""Compares a check with one that was kept: what was lost since, in speed, size or release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unhang.errors import UsageError
from unhang.model.preflight import CheckReport, Stage, Status
from unhang.model.provenance import Message

SCHEMA = "unhang.check/1"
_SAME = frozenset(
    {
        *("torch", "nccl", "driver", "kernel", "python", "there", "names", "mbit", "mtu"),
        *("gloo", "rates", "kind", "total_bytes", "size", "memlock_bytes"),
    }
)
"""Values that do not change by themselves."""
_SPEEDS = frozenset({"one_writer", "all_writers", "busbw", "algbw", "bytes_per_s"})
_LOST = 0.3
"""Share of a speed: storage and networks that others use vary by less most of the time."""
_MOST_BYTES = 64 << 20


def read_baseline(path: Path) -> Mapping[str, Any]:
    """Read what `unhang check --format json` printed.

    Raises:
        UsageError: it is none.
    """
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as a baseline: {str(error)[:120]}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} is not a baseline: expected what `unhang check --format json` prints"
        )
    return data


def compare_baseline(report: CheckReport, baseline: Mapping[str, Any]) -> CheckReport:
    """Add a stage for each loss since the baseline."""
    before: dict[tuple[str, str], Mapping[str, Any]] = {}
    for stage in baseline.get("stages", ()):
        if isinstance(stage, dict) and isinstance(stage.get("measured"), dict):
            place = (str(stage.get("name")), str(stage.get("host")))
            before[place] = {**before.get(place, {}), **stage["measured"]}
    found: dict[tuple[str, str, str], Stage] = {}
    for stage in report.stages:
        old = before.get((stage.name, stage.host), {})
        for name, value in stage.measured.items():
            message = _loss(name, old.get(name), value) if name in old else None
            if message is not None:
                lost = Stage(
                    name=stage.name,
                    host=stage.host,
                    status=Status.WARN,
                    message=message,
                    measured={name: value},
                    expected={name: old[name]},
                    source="baseline",
                )
                found.setdefault((stage.name, stage.host, name), lost)
    return replace(report, stages=(*report.stages, *found.values()))


def _loss(name: str, before: object, after: object) -> Message | None:
    values: dict[str, object] = {"field": name, "before": _text(before), "after": _text(after)}
    if name in _SPEEDS and _is_number(before) and _is_number(after):
        assert isinstance(before, (int, float))
        assert isinstance(after, (int, float))
        share = 1 - after / before if before > 0 else 0.0
        values["percent"] = round(share * 100)
        return Message(key="baseline.slower", values=values) if share > _LOST else None
    if name in _SAME and before != after:
        return Message(key="baseline.changed", values=values)
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: object) -> str:
    return str(value)[:120]
