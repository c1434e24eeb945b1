"""What is different between a report of a node and the one before, and the report made of it.

Most of a report is as it was: arguments, members of groups, limits. A node whose processes are the
same as before tells the rest only: of each process, in their order, the keys that are different,
and None where a key is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unhang.live.messages.fields import as_float
from unhang.live.messages.losses import losses_from_json
from unhang.live.messages.reports import Json, NodeReport
from unhang.live.messages.wire import node_to_json, process_from_json


class ReportSender:
    """Tells the reports of one node, numbered, and only what is different from one that arrived."""

    def __init__(self) -> None:
        self._number = 0
        self._told: dict[str, Any] = {}
        self._before: dict[str, Any] | None = None

    def tell(self, report: NodeReport) -> dict[str, Any]:
        """Return what to send; after it has failed, the next one is whole."""
        self._number += 1
        before, self._before = self._before, None
        self._told = told = {**node_to_json(report), "number": self._number}
        if before is None or _who(before) != _who(told):
            return told
        less = _different(before, told)
        pairs = zip(before["processes"], told["processes"], strict=True)
        return {**less, "on": before["number"], "processes": [_of_process(*p) for p in pairs]}

    def arrived(self) -> None:
        """The judging node has what was told last."""
        self._before = self._told


def changed(before: NodeReport, told: Json) -> NodeReport:
    """Return the report of which these are the changes.

    Raises:
        ValueError: they are not those of a report after this one.
    """
    listed = told.get("processes")
    if not isinstance(listed, list) or len(listed) != len(before.processes):
        raise ValueError("these are changes of another report")
    processes = [process_from_json(i, p) for i, p in zip(listed, before.processes, strict=True)]
    wall_s, mono_s = as_float(told.get("wall")), as_float(told.get("mono"))
    return replace(
        before,
        wall_s=before.wall_s if wall_s is None else wall_s,
        mono_s=before.mono_s if mono_s is None else mono_s,
        launcher_alive=told.get("launcher_alive", before.launcher_alive) is not False,
        lost=losses_from_json(told["lost"]) if "lost" in told else before.lost,
        processes=tuple(process for process in processes if process is not None),
    )


def _who(told: Mapping[str, Any]) -> list[tuple[object, object]]:
    beats = [process["beat"] for process in told["processes"]]
    return [(beat["pid"], beat.get("process_started")) for beat in beats]


def _of_process(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    parts = {part: _different(before[part], now[part]) for part in ("beat", "facts")}
    known, groups = before["beat"].get("groups", {}), now["beat"].get("groups", {})
    parts["beat"]["groups"] = {
        name: None if group is None else _different(known.get(name, {}), group)
        for name, group in _different(known, groups).items()
    }
    return {**now, **parts}


def _different(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: v for key, v in now.items() if key not in before or before[key] != v}
    found.update(dict.fromkeys(before.keys() - now.keys()))
    return found
