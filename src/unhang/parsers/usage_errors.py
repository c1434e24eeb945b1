"""From what argparse prints of a wrong command line to the exception that ends the script.

Reads::

    usage: train.py [-h] [--lr LR]
    train.py: error: unrecognized arguments: --local-rank=1

argparse prints no traceback: it raises `SystemExit(2)`. Whether the line is the script's own shows
the usage above it, which names the same script.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, ExceptionKind, PythonException
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_USAGE = re.compile(r"usage: (?P<script>[\w./-]{1,120}\.py)\b")
_ERROR = re.compile(r"(?P<script>[\w./-]{1,120}\.py): error: (?P<why>\S.{0,300})")


class UsageErrorsParser(LineParser, name="usage-errors", needles=("usage: ", ".py: error: ")):
    """Parser of argparse's errors."""

    def __init__(self) -> None:
        self._scripts: set[str] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep a usage, and say the error of a script whose usage came."""
        usage = line.says(_USAGE)
        if usage is not None:
            self._scripts.add(usage["script"])
            return
        error = line.says(_ERROR)
        if error is not None and error["script"] in self._scripts:
            yield PythonException(
                **place(line),
                kind=ExceptionKind.USER,
                exception="SystemExit",
                message=error["why"].strip(),
            )
