"""From `py-spy dump --json` to stacks.

Reads, pretty-printed or on one line, also when its end is lost::

    [{"pid": 4711, "thread_id": 140…, "thread_name": "MainThread", "os_thread_id": 4711,
      "active": false, "owns_gil": false,
      "frames": [{"name": "save", "filename": "/…/torch/serialization.py", "line": 944, …}, …]}, …]

The innermost frame comes first. Keys are read one by one, in this order, so that a document that
was cut still tells what it holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, Frame, StackKind, ThreadStack
from unhang.model.provenance import TEXT_LIMIT, Origin, Provenance
from unhang.parsers.base import LineParser, needles
from unhang.parsers.vocabulary import stack_owners
from unhang.settings.frames import packaged
from unhang.sources.line import Line

_KEY = re.compile(
    r'"(?P<key>pid|thread_id|thread_name|os_thread_id|active|owns_gil|name|filename|line'
    r'|command_line)"\s*:\s*(?P<value>"(?:[^"\\]|\\.){0,1000}"|-?\d{1,20}|true|false|null)'
)
_MOST_FRAMES = 400
_Value = str | int | bool | None


class JsonStacksParser(
    LineParser,
    name="json-stacks",
    needles=(*needles("json-stacks"), *stack_owners.NEEDLES[1:]),
    after=40,
):
    """Parser of py-spy's JSON."""

    def __init__(self) -> None:
        self._owner: Origin | None = None
        self._thread: dict[str, _Value] = {}
        self._frames: list[Frame] = []
        self._frame: dict[str, _Value] = {}
        self._source: Provenance | None = None
        self._origin: Origin | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a thread's stack when the next one begins."""
        owner = stack_owners.owner_of(line.text, line.origin)
        if owner is not None:
            yield from self._close()
            self._owner = owner
            return
        self._origin = self._owner or line.origin
        for match in _KEY.finditer(line.text):
            yield from self._take(line, match["key"], _value(match["value"]))

    def finish(self) -> Iterator[Event]:
        """Say the last one."""
        yield from self._close()

    def _take(self, line: Line, key: str, value: _Value) -> Iterator[Event]:
        if key in {"name", "filename", "line"}:
            self._frame[key] = value
            if len(self._frame) == 3:
                self._add_frame(line)
            return
        if key == "pid" or (key == "thread_id" and "thread_id" in self._thread):
            pid = self._thread.get("pid")
            yield from self._close()
            self._thread = {} if pid is None else {"pid": pid}
        self._thread[key] = value

    def _add_frame(self, line: Line) -> None:
        name, file, number = (self._frame.get(key) for key in ("name", "filename", "line"))
        self._frame = {}
        if "os_thread_id" not in self._thread and "thread_id" not in self._thread:
            return
        if len(self._frames) < _MOST_FRAMES:
            known = isinstance(number, int) and number > 0
            self._frames.append(
                Frame(file=str(file), line=int(str(number)) if known else None, function=str(name))
            )
        if self._source is None:
            self._source = Provenance(
                artifact=line.artifact,
                line=line.number,
                text=f"{name} ({packaged(str(file))}:{number})"[:TEXT_LIMIT],
            )

    def _close(self) -> Iterator[Event]:
        thread, frames, source = self._thread, self._frames, self._source
        self._thread, self._frames, self._frame, self._source = {}, [], {}, None
        if source is None or self._origin is None:
            return
        pid, tid, name = thread.get("pid"), thread.get("os_thread_id"), thread.get("thread_name")
        origin = stack_owners.owner_of(
            f"Process {pid}: {thread.get('command_line') or ''}", self._origin
        )
        active = thread.get("active")
        yield ThreadStack(
            source=source,
            origin=origin or self._origin,
            kind=StackKind.PYTHON,
            frames=tuple(reversed(frames)),
            thread=name if isinstance(name, str) else None,
            tid=tid if isinstance(tid, int) else None,
            main=name == "MainThread" if isinstance(name, str) else (tid == pid or None),
            idle=None if active is None else active is False,
            gil=thread.get("owns_gil") is True,
        )


def _value(text: str) -> _Value:
    try:
        loaded = json.loads(text)
    except ValueError:  # a lone backslash before the end of what was kept
        return text.strip('"')
    return loaded if isinstance(loaded, str | int | bool) else None
