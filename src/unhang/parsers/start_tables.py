"""From lines of one form that count processes to whose pid, GPU or address each number has.

Launchers that people write say once for each process what they gave it, in words of their own::

    R0 pid 6611
    spawn r=4 pid=41239 gpu=4
    worker 2 -> 0000:C1:00.0
    rank 3 pci 0000:a3:00.0

No list of words is needed: a form whose first named number counts from line to line without a gap,
while a pid or an address differs in each, is such a table.

Traps: what counts from 0 may count on one host, so that it is the rank only where no other host is;
a table of one row counts nothing; what is printed again and again is no table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import Event, WorldSeen
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_PID = re.compile(r"(?<![\w-])(?i:pid)\W{1,3}(?P<pid>\d{2,9})(?![\w.])")
_PCI = re.compile(r"(?<![\w:])(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)(?![\w:])")
_NAMED = re.compile(
    r"(?<![A-Za-z])(?P<word>[A-Za-z_]{1,20})\W{0,3}(?P<number>\d{1,5})(?!\w|[.:]\d)"
)
_DIGITS = re.compile(r"\d{1,5}")
_OF_PROCESSES = re.compile(
    r"(?i)(?:global_|world_|local_)?(?:r|rank|w|worker|p|proc(?:ess|id)?|trainer|replica|task|actor"
    r"|member|learner|child)"
)
_OF_THINGS = re.compile(
    r"(?i)gpus?|device|card|cuda|index|bus|irq|type|bar|port|slot|numa|node|host|cpu|core|link|id"
)
_OTHER = re.compile(
    r"(?i)\b(?:error|fail|kill|exit|died|dead|signal|terminat|crash|abort|xid|step|iter|epoch|loss)"
)
_LONGEST, _FEWEST, _MOST = 160, 2, 4096


class _Row(NamedTuple):
    """One line: the number, and the pid or the address beside it."""

    line: Line
    number: int
    pid: int | None
    pci: str | None


class StartTablesParser(
    LineParser,
    name="start-tables",
    needles=("pid ", "pid=", "pid:", "PID ", "PID=", ":00.0", ":00.1"),
    sampled=True,
):
    """Parser of lines that count processes."""

    def __init__(self) -> None:
        self._tables: dict[tuple[bool, str], list[_Row]] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep a row."""
        text = line.text.strip()
        pid, pci = _PID.search(text), _PCI.search(text)
        if (pid is None and pci is None) or len(text) > _LONGEST or _OTHER.search(text):
            return
        rest = _PCI.sub("@", _PID.sub("#", text))
        named = _NAMED.search(rest)
        own = line.origin.rank is None and line.origin.local_rank is None
        if named is None or not own or _OF_THINGS.fullmatch(named["word"]):
            return
        form = (_OF_PROCESSES.fullmatch(named["word"]) is not None, _DIGITS.sub("0", rest))
        rows = self._tables.setdefault(form, [])
        if len(rows) < _MOST:
            rows.append(
                _Row(
                    line,
                    int(named["number"]),
                    None if pid is None else int(pid["pid"]),
                    None if pci is None else pci["pci"],
                )
            )
        yield from ()

    def finish(self) -> Iterator[Event]:
        """Say whose is what, in each form that is a table."""
        for (of_processes, _), rows in self._tables.items():
            yield from _read(rows, of_processes=of_processes)


def _read(rows: Sequence[_Row], *, of_processes: bool) -> Iterator[WorldSeen]:
    first = rows[0].number
    counted = [row.number for row in rows] == list(range(first, first + len(rows)))
    if len(rows) < _FEWEST or not counted or (first > 0 and not of_processes):
        return
    for values in ([row.pid for row in rows], [row.pci for row in rows]):
        if None not in values and len(set(values)) < len(values):
            return
    for row in rows:
        yield WorldSeen(
            **place(row.line),
            listed=True,
            rank=Rank(row.number) if first > 0 else None,
            local_rank=LocalRank(row.number) if first == 0 else None,
            pid=row.pid,
            bus_id=row.pci,
        )
