"""From Horovod's reports of stalled tensors to the ranks that did not come.

Reads (horovod/common/stall_inspector.cc of 0.19 to 0.28; operations.cc before; read 2026-11)::

    One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks …
    Missing ranks:
    0: [gradients/dense/AddN, gradients/dense_1/AddN ...]
    3!: [gradients/dense/AddN]
    Stalled ops:gradients/dense/AddN [missing ranks: 1, 2]
    gradients/dense/AddN [ready ranks: 0, 3]
    Stalled ops: Reduce/AddN_69_0 [ready ranks: 2, 1], Reduce/AddN_70_0 [ready ranks: 2, 1]

A report tells of one moment: a rank that starts late is reported, comes, and all is well. So only
the last report of a log counts. Where all ranks are missing from something, they submit different
tensors, and the report accuses nobody (the rule looks at that).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unhang.model.events import DesyncReported, Event
from unhang.model.ids import Rank, Ranks
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_HEAD = re.compile(r"(?:WARNING: )?One or more tensors were submitted to be\s*reduced")
_BLOCK = re.compile(r"(?:Missing|Stalled) ranks:")
_ROW = re.compile(r"(?:^|[>\s:])(?P<rank>\d{1,6})(?P<ends>!)?: \[(?P<tensors>[^\]]{1,2000})\]?\s*$")
_INLINE = re.compile(
    r"(?:Stalled ops: ?)?\S{1,300} \[(?P<kind>missing|ready) ranks: ?(?P<ranks>\d[\d, ]{0,4000})\]"
)
_ALL_OPS = re.compile(r"Stalled ops:")
_MOST_ROWS = 4096


class HorovodParser(LineParser, name="horovod", after=64):
    """Parser of Horovod's stall reports."""

    def __init__(self) -> None:
        self._head: Line | None = None
        self._in_block = False
        self._whole = False
        self._absent: set[Rank] = set()
        self._joined: set[Rank] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line; the last report is said when the artifact has ended."""
        if line.says(_HEAD):
            self._head = line
            self._absent, self._joined, self._in_block = set(), set(), False
        elif self._head is not None:
            self._take(line)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Say the last report."""
        told = self._absent - self._joined if self._absent else self._joined and self._whole
        if self._head is not None and told:
            yield DesyncReported(
                **place(self._head),
                absent=frozenset(self._absent),
                joined=frozenset(self._joined - self._absent),
                all_joined=not self._absent,
            )
        self._head = None

    def _take(self, line: Line) -> None:
        """A line below the head: a block of ranks, or a tensor with its ranks."""
        if line.says(_BLOCK):
            self._in_block = True
            return
        # The rank in front looks like the label of srun, so it is read before it is peeled off.
        row = _ROW.search(line.raw) if self._in_block and len(self._absent) < _MOST_ROWS else None
        if row is not None:
            self._absent.add(Rank(int(row["rank"])))
            return
        self._in_block = False
        if line.says(_INLINE) is None:
            return
        # Where all tensors stand in one line, none of them can be missing from it alone.
        self._whole = _ALL_OPS.match(line.text) is not None
        for inline in _INLINE.finditer(line.text):
            told = self._absent if inline["kind"] == "missing" else self._joined
            told |= _ranks(inline["ranks"])


def _ranks(text: str) -> Ranks:
    return frozenset(Rank(int(number)) for number in re.findall(r"\d{1,6}", text)[:_MOST_ROWS])
