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
the last report of a log counts. Where all ranks are missing from something, the report accuses
nobody; ranks of which each is alone with tensors of its own, report after report, submit different
ones, and so do two sides each of which lacks what the other one does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang import lazy_re as re
from unhang.model.events import DesyncReported, Event, Fingerprint, FingerprintMismatch
from unhang.model.ids import Rank, Ranks
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_HEAD = re.compile(r"(?:WARNING: )?One or more tensors were submitted to be\s*reduced")
_BLOCK = re.compile(r"(?:Missing|Stalled) ranks:")
_ROW = re.compile(r"(?:^|[>\s:])(?P<rank>\d{1,6})(?P<ends>!)?: \[(?P<tensors>[^\]]{1,2000})\]?\s*$")
_INLINE = re.compile(
    r"(?:Stalled ops: ?)?(?P<tensor>\S{1,300}) \[(?P<kind>missing|ready) ranks: ?"
    r"(?P<ranks>\d[\d, ]{0,4000})\]"
)
_ALL_OPS = re.compile(r"Stalled ops:")
_TENSORS = re.compile(r",? +")
_SIDES = 2
_MOST_ROWS = 4096


class HorovodParser(LineParser, name="horovod", after=64):
    """Parser of Horovod's stall reports."""

    def __init__(self) -> None:
        self._head: Line | None = None
        self._in_block = False
        self._whole = False
        self._absent: set[Rank] = set()
        self._joined: set[Rank] = set()
        self._alone: dict[Rank, str] = {}
        self._lacks: dict[Rank, str] = {}
        self._alike = self._crossed = 0

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line; the last report is said when the artifact has ended."""
        if line.says(_HEAD):
            self._count()
            self._head = line
            self._absent, self._joined, self._in_block = set(), set(), False
            self._alone, self._lacks = {}, {}
        elif self._head is not None:
            self._take(line)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Say the last report."""
        self._count()
        if self._head is not None and self._alike > 1:
            yield from self._different(self._head, self._alone)
        if self._head is not None and self._crossed > 1:
            # What one lacks the other has submitted.
            first, second = dict.fromkeys(self._lacks.values())
            submitted = {r: second if t == first else first for r, t in self._lacks.items()}
            yield from self._different(self._head, submitted)
        told = self._absent - self._joined if self._absent else self._joined and self._whole
        if self._head is not None and told:
            yield DesyncReported(
                **place(self._head),
                absent=frozenset(self._absent),
                joined=frozenset(self._joined - self._absent),
                all_joined=not self._absent,
            )
        self._head = None

    def _count(self) -> None:
        """Count reports in a row in which several ranks are alone, each with its own tensors."""
        told = len(self._alone) > 1 and self._joined == set(self._alone)
        self._alike = self._alike + 1 if told else 0
        tensors = [set(_TENSORS.split(text)) for text in dict.fromkeys(self._lacks.values())]
        apart = len(tensors) == _SIDES and tensors[0].isdisjoint(tensors[1])
        everybody = len(self._lacks) > _SIDES and max(self._lacks) + 1 == len(self._lacks)
        self._crossed = self._crossed + 1 if apart and everybody else 0

    def _different(self, head: Line, ran: Mapping[Rank, str]) -> Iterator[Event]:
        (first, tensor), *others = sorted(ran.items())
        for rank, other in others:
            if other == tensor:
                continue
            yield FingerprintMismatch(
                **place(head),
                rank=rank,
                runs=Fingerprint(op=other),
                other_rank=first,
                other_runs=Fingerprint(op=tensor),
            )

    def _take(self, line: Line) -> None:
        """A line below the head: a block of ranks, or a tensor with its ranks."""
        if line.says(_BLOCK):
            self._in_block = True
            return
        # The rank in front looks like the label of srun, so it is read before it is peeled off.
        row = _ROW.search(line.raw) if self._in_block and len(self._absent) < _MOST_ROWS else None
        if row is not None:
            self._absent.add(Rank(int(row["rank"])))
            self._lacks[Rank(int(row["rank"]))] = row["tensors"].removesuffix("...").strip()
            return
        self._in_block = False
        if line.says(_INLINE) is None:
            return
        # Where all tensors stand in one line, none of them can be missing from it alone.
        self._whole = _ALL_OPS.match(line.text) is not None
        for inline in _INLINE.finditer(line.text):
            told = self._absent if inline["kind"] == "missing" else self._joined
            ranks = _ranks(inline["ranks"])
            told |= ranks
            if inline["kind"] == "ready" and len(ranks) == 1:
                self._alone.setdefault(min(ranks), inline["tensor"])


def _ranks(text: str) -> Ranks:
    return frozenset(Rank(int(number)) for number in re.findall(r"\d{1,6}", text)[:_MOST_ROWS])
