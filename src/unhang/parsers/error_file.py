r"""From torchelastic's error files, and their print by `@record`, to exceptions.

Reads `error.json` on one line, or as the error handler logs it::

    {
      "message": {
        "message": "ValueError: bad shard",
        "extraInfo": {
          "py_callstack": "Traceback (most recent call last):\n  File …",
          "timestamp": "1772442680"
        }
      }
    }

Traps: the traceback is one escaped string, so the parser of tracebacks leaves it alone; the time
is in seconds since 1970; the program usually prints the same exception itself as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, Frame, PythonException
from unhang.model.provenance import TEXT_LIMIT, Origin
from unhang.model.time import Clock, Instant
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.exceptions import classify_exception
from unhang.sources.line import Line

_MESSAGE = re.compile(
    r'"message":\s*"(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w{0,100})(?::\s?(?P<text>[^"\\]{0,400}))?'
)
_STACK = re.compile(r'"py_callstack":\s*"Traceback')
_FRAME = re.compile(
    r'File \\"(?P<file>[^"\\]{1,400})\\", line (?P<line>\d{1,8})'
    r"(?:, in (?P<function>[\w.<>]{1,200}))?"
)
_TIMESTAMP = re.compile(r'"timestamp":\s*"?(?P<seconds>\d{9,11})\b')
_KEPT_FRAMES = 60


class ErrorFileParser(
    LineParser, name="error-file", needles=('"message":', '"extraInfo"', '"py_callstack"'), after=3
):
    """Parser of error files."""

    def __init__(self) -> None:
        self._named: dict[Origin, tuple[str, str]] = {}
        self._told: PythonException | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line; the message stands above its stack, the time below."""
        message = _MESSAGE.search(line.text)
        if message is not None:
            self._named[line.origin] = message["name"], (message["text"] or "").strip()
        if _STACK.search(line.text):
            yield from self.finish()
            self._told = self._exception(line)
        time = _TIMESTAMP.search(line.text)
        if self._told is not None and time is not None:
            told, self._told = self._told, None
            at = Instant(seconds=float(time["seconds"]), clock=Clock.UTC)
            yield _at(told, at)

    def finish(self) -> Iterator[Event]:
        """Say an exception whose time never came."""
        if self._told is not None:
            yield self._told
            self._told = None

    def _exception(self, line: Line) -> PythonException:
        name, text = self._named.pop(line.origin, ("", ""))
        frames = tuple(
            Frame(file=m["file"], line=int(m["line"]), function=m["function"] or "")
            for m in _FRAME.finditer(line.text)
        )[-_KEPT_FRAMES:]
        return PythonException(
            **place(line),
            kind=classify_exception(name, text, frames),
            exception=name,
            message=text[:TEXT_LIMIT],
            frames=frames,
        )


def _at(told: PythonException, at: Instant) -> PythonException:
    """The same exception with its time, unless its line had one."""
    return PythonException(
        source=told.source,
        origin=told.origin,
        at=at if told.at is None else told.at,
        kind=told.kind,
        exception=told.exception,
        message=told.message,
        frames=told.frames,
    )
