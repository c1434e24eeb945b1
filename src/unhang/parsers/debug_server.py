"""From text dumps of torch's debug server to the ranks that gave no answer.

Reads::

    === Rank 3: http://gpu-07:4711/handler/dump_traceback? ===
    Error: 408

The stacks below the other heads are read by the parsers of stacks. A thread of the process itself
answers; 408 is a process that does not get to it within the limit, as when Python's interpreter
lock is kept, and 503 one that cannot be reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, StackRefused
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_HEAD = re.compile(r"^=== Rank (?P<rank>\d{1,6}): (?P<address>\S{0,400}) ===\s*$")
_FAILED = re.compile(r"^Error: (?P<status>\d{3})\s*$")


class DebugServerParser(LineParser, name="debug-server", needles=("=== Rank ",), after=1):
    """Parser of what the debug server says of ranks without an answer."""

    def __init__(self) -> None:
        self._head: tuple[Line, Rank] | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a rank without an answer."""
        failed = _FAILED.match(line.text)
        if failed is not None and self._head is not None:
            head, rank = self._head
            where = place(head)
            where["origin"] = replace(where["origin"], rank=rank)
            yield StackRefused(**where, status=int(failed["status"]))
        found = _HEAD.match(line.text)
        self._head = None if found is None else (line, Rank(int(found["rank"])))
