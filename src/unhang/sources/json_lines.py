r"""From a line that a collector wrote as JSON or logfmt to the lines that the program printed.

Docker's json-file driver writes `{"log":"text\n","stream":"stderr","time":"…"}`
(docs.docker.com/engine/logging/drivers/json-file, 2026-11); loggers with JSON output write the text
under `message`, `msg` or `event`, beside a level or a time, and an exception's traceback in a field
of its own; logfmt writes `ts=… level=error rank=3 msg="text"`. A training sample has neither, and
stays what it is: a text that somebody shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from unhang import lazy_re as re

_TEXT = ("log", "message", "msg", "event", "data")
_MORE = ("exc_info", "exception", "traceback", "stack_trace", "stacktrace", "stack", "error")
_LEVEL = ("level", "levelname", "severity", "lvl")
_TIME = ("time", "timestamp", "@timestamp", "ts", "asctime")
_SPEAKER = {
    "host": ("host", "hostname", "node", "nodename", "pod_name", "pod"),
    "rank": ("rank", "global_rank", "RANK"),
    "local_rank": ("local_rank", "LOCAL_RANK"),
    "pid": ("pid", "process_id"),
}
_COUNTS = ("epoch", "global_step", "step", "iteration", "iter", "loss", "exit_code")
"""Fields that a logger keeps beside the text, and that belong to what it says."""
_COLLECTORS = frozenset(
    {"stream", "stream_name", "kubernetes", "docker", "container_name", "pod_name", *_LEVEL}
)
_SAMPLE = frozenset({"text", "content", "prompt", "messages", "completion", "label", "role"})
_LONGEST = 64 << 10
_OBJECT = ('{"', ',{"', '[{"')
"""On a line of its own, or as a member of a list, as Kaggle keeps `{"stream_name":"stdout",…}`."""
_MOST_LINES = 200
_LEVELS = {
    **{level: level for level in ("debug", "info", "warning", "error", "critical", "fatal")},
    "warn": "warning",
}
_NAME = re.compile(r"[A-Za-z][\w.-]{0,120}|\d{1,3}(?:\.\d{1,3}){3}")
_PAIR = re.compile(
    r'(?P<key>[A-Za-z_@][\w.]{0,40})=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]*))\s*'
)


def unwrapped(line: str) -> list[str]:
    r"""The printed lines, with what the collector knows in front; any other line as it is.

    >>> unwrapped('{"log":"step 3\\n","stream":"stdout","time":"2026-05-01T10:00:00.5Z"}')
    ['2026-05-01T10:00:00.5Z step 3']
    >>> unwrapped('level=error rank=3 msg="it is gone"')
    ['[error] [rank=3] it is gone']
    """
    fields = _of_json(line) if line.startswith(_OBJECT) else _of_logfmt(line)
    if fields is None:
        return [line]
    flat = dict(_flat(fields))
    text = _first(flat, _TEXT)
    if text is None or _COLLECTORS.isdisjoint(fields):
        return [line]
    head = " ".join([*_head(flat), ""])
    more = next((v for k in _MORE if "\n" in (v := flat.get(k, ""))), "")
    first, *others = text.rstrip("\n").split("\n")
    counts = [f"{key}={flat[key]}" for key in _COUNTS if key in flat and key not in first]
    lines = [" ".join([first, *counts]), *others, *more.strip("\n").split("\n")][:_MOST_LINES]
    return [head + part for part in lines if part] or [line]


def is_wrapped(line: str) -> bool:
    """Whether a line may be a collector's: cheap, for every line is asked."""
    return line.startswith(_OBJECT) or ('msg="' in line and "=" in line[:40])


def _of_json(line: str) -> dict[str, object] | None:
    text = line.strip(",[] \r\n")
    if not text.endswith("}") or len(line) > _LONGEST:
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    sample = not isinstance(fields, dict) or not _SAMPLE.isdisjoint(fields)
    return None if sample else fields


def _of_logfmt(line: str) -> dict[str, object] | None:
    """The fields of a line that is nothing but `key=value`."""
    fields: dict[str, object] = {}
    position = 0
    while position < len(line):
        pair = _PAIR.match(line, position)
        if pair is None or len(line) > _LONGEST:
            return None
        quoted = pair["quoted"]
        value = pair["bare"] if quoted is None else re.sub(r'\\(["\\])', r"\1", quoted)
        fields[pair["key"]] = value.replace("\\n", "\n") if quoted is not None else value
        position = pair.end()
    return fields or None


def _flat(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Texts and numbers by key, those of nested objects (`labels`, `extra`, `kubernetes`) last."""
    for value in fields.values():
        if isinstance(value, dict):
            yield from ((k, str(v)) for k, v in value.items() if _is_plain(v))
    yield from ((k, str(v)) for k, v in fields.items() if _is_plain(v))


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _head(fields: Mapping[str, str]) -> Iterator[str]:
    """What stood beside the text, as a logger would have printed it in front."""
    time, level = _first(fields, _TIME), _first(fields, _LEVEL)
    if time is not None and ":" in time:
        yield time
    if level is not None and level.lower() in _LEVELS:
        yield f"[{_LEVELS[level.lower()]}]"
    told = {key: _first(fields, names) for key, names in _SPEAKER.items()}
    speaker = [f"{k}={v}" for k, v in told.items() if v is not None and _names(k, v)]
    if speaker:
        yield f"[{' '.join(speaker)}]"


def _names(key: str, value: str) -> bool:
    if key == "host":
        return _NAME.fullmatch(value) is not None
    return value.isascii() and value.isdigit() and len(value) < 8


def _first(fields: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    return next((fields[k] for k in keys if k in fields), None)
