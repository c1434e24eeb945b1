"""The inputs of a monitor as lines of JSON: a run can be judged again, input by input.

One line is one input with the monitor's time: `{"now": 12.5, "report": {…}}`, or `dumps`, `ended`,
`tick` instead of `report`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import Action
from unhang.live.messages.inputs import DumpsReady, Input, OutputEnded, Tick
from unhang.live.messages.policy import Policy
from unhang.live.messages.reports import NodeReport
from unhang.live.messages.wire import node_from_json, node_to_json
from unhang.model.codec import decode, encode


def to_line(event: Input, now: float) -> str:
    """Write one input, without a line end."""
    match event:
        case NodeReport():
            told: dict[str, object] = {"report": node_to_json(event)}
        case DumpsReady():
            told = {"dumps": encode(event)}
        case OutputEnded():
            told = {"ended": encode(event)}
        case Tick():
            told = {"tick": True}
    return json.dumps({"now": now, **told}, separators=(",", ":"))


def from_line(line: str) -> tuple[Input, float]:
    """The inverse of `to_line`.

    Raises:
        ValueError: the line is no input; the message says what was found.
    """
    data = json.loads(line)
    now = data.get("now") if isinstance(data, dict) else None
    if not isinstance(now, (int, float)):
        raise ValueError(f"{line[:60]!r} is not an input of a monitor: it has no time")  # noqa: TRY004
    return _input(data, line), float(now)


def replay(lines: Iterable[str], policy: Policy | None = None) -> Iterator[tuple[float, Action]]:
    """Yield what a new monitor asks for when it is told the same, with its time.

    Raises:
        ValueError: a line is no input.
    """
    monitor = Monitor(policy)
    for line in lines:
        event, now = from_line(line)
        for action in monitor.handle(event, now):
            yield now, action


def _input(data: dict[str, object], line: str) -> Input:
    report = data.get("report")
    if isinstance(report, dict) and (node := node_from_json(report)) is not None:
        return node
    if "dumps" in data:
        return decode(DumpsReady, data["dumps"])
    if "ended" in data:
        return decode(OutputEnded, data["ended"])
    if "tick" in data:
        return Tick()
    raise ValueError(f"{line[:60]!r} is not an input of a monitor")
