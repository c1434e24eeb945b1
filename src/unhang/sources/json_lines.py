r"""From a line that a collector wrote as JSON to the line that the program printed.

Docker's json-file driver writes `{"log":"text\n","stream":"stderr","time":"…"}`
(docs.docker.com/engine/logging/drivers/json-file, 2026-11); loggers with JSON output write the text
under `message`, `msg` or `event`, beside a level or a time. A training sample has neither, and
stays what it is: a text that somebody shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

_TEXT = ("log", "message", "msg", "event")
_LEVEL = ("level", "levelname", "severity", "lvl")
_TIME = ("time", "timestamp", "@timestamp", "ts", "asctime")
_SAMPLE = frozenset({"text", "content", "prompt", "messages", "completion", "label", "role"})
_LONGEST = 64 << 10
_LEVELS = {
    **{level: level for level in ("debug", "info", "warning", "error", "critical", "fatal")},
    "warn": "warning",
}


def unwrapped(line: str) -> str:
    r"""The printed line, with the collector's time in front; any other line as it is.

    >>> unwrapped('{"log":"step 3\\n","stream":"stdout","time":"2026-05-01T10:00:00.5Z"}')
    '2026-05-01T10:00:00.5Z step 3'
    """
    if not line.startswith('{"') or not line.rstrip().endswith("}") or len(line) > _LONGEST:
        return line
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(fields, dict) or not _SAMPLE.isdisjoint(fields):
        return line
    text = _first(fields, _TEXT)
    if text is None or not any(key in fields for key in ("stream", *_LEVEL)):
        return line
    return " ".join([*_head(fields), text.rstrip("\n").replace("\n", " ")])


def _head(fields: dict[str, object]) -> Iterator[str]:
    """What stood beside the text, as a logger would have printed it in front."""
    time, level = _first(fields, _TIME), _first(fields, _LEVEL)
    if time is not None:
        yield time
    if level is not None and level.lower() in _LEVELS:
        yield f"[{_LEVELS[level.lower()]}]"
    rank = fields.get("rank")
    if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << 24:
        yield f"[rank={rank}]"


def _first(fields: dict[str, object], keys: tuple[str, ...]) -> str | None:
    return next((v for k in keys if isinstance(v := fields.get(k), str)), None)
