"""From all that processes print in their own name to the last line of each.

A rank that still prints while the others wait is at work, whatever its words are. So the last line
of each process is told, with its time; lines of trouble are not of its work, and a line that says
`waiting` shows the opposite of work.

Traps: who tells of a rank in a sentence need not be that rank; what threads print by the clock
(`heartbeat`, `still alive`) shows no work.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, LastLine
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import rank_needles
from unhang.sources.line import Line

_TROUBLE = re.compile(
    r"time[ds]?[ -]?out|watchdog|abort|error|exception|traceback|terminat|kill|signal|exit|fail"
    r"|fatal|nccl|closed|refused|reset|broken|destroy|shut|warn|超时|错误|异常|失败|退出",
    re.IGNORECASE,
)
_CLOCKWORK = re.compile(
    r"heart-?beat|\balive\b|\bidle\b|stuck|hang|hung|no (?:new|progress|output)|gpu[ _]util"
    r"|memory|stack|still (?:in|at)\b",
    re.IGNORECASE,
)
_WAITS = re.compile(
    r"\bwait|barrier|\bblocked\b|gather|reduc|broadcast|\bsync|等待|同步", re.IGNORECASE
)
_DATA = (" ", '"', "{", "}", "[{", "]")
"""How lines of a table or of JSON begin."""
_MOST = 4_096
_LONGEST = 400


class LastLinesParser(LineParser, name="last-lines", needles=rank_needles.NEEDLES, sampled=True):
    """Parser of the last line of each process."""

    def __init__(self) -> None:
        self._last: dict[tuple[Rank | None, LocalRank | None], LastLine] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the line if a process speaks of its work in it."""
        who = line.origin.rank, line.origin.local_rank
        if who == (None, None) or (who not in self._last and len(self._last) >= _MOST):
            return iter(())
        text = line.text[:_LONGEST]
        by_torch = line.header is not None and line.header.file.endswith((".cpp", ".cc"))
        plain = text.strip() and not text.startswith(_DATA) and not by_torch
        if plain and not _TROUBLE.search(text) and not _CLOCKWORK.search(text):
            waits = _WAITS.search(text) is not None
            self._last[who] = LastLine(**place(line), waits_by_its_words=waits)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Tell the last line of each."""
        yield from self._last.values()
