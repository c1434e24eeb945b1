"""From lines that name a process beside its rank to whose pid it is.

Reads, whoever prints it::

    local_rank=3 pid=2121 seed=42
    rank 3 (pid 4711) ready
    node gx4, pid 2122, using GPU 2.
    pids of r0 r1 r2 = 7720 7721 7722

Traps: such a line need not be printed by the process that it names.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, WorldSeen
from unhang.model.forms import patterns
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_PATTERNS = patterns("unhang.parsers", "data/pids.toml")
_OWN = re.compile(r"\W{0,3}(?i:pid)[=: ]{1,2}(?P<pid>\d{2,10})\b")
"""What is left of such a line where its rank is taken for a prefix."""
_LISTED = re.compile(
    r"\bpids? (?:of|for) "
    r"(?P<ranks>(?:(?:ranks? ?|r)?\d{1,6}[ ,;/]{1,2}){1,256}(?:rank ?|r)?\d{1,6})"
    r" ?(?:=|:|are) ?(?P<pids>(?:\d{2,8}[ ,;/]{1,2}){1,256}\d{2,8})",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")


class PidsParser(
    LineParser,
    name="pids",
    needles=("pid=", "pid ", "pid: ", "PID ", "PID=", "PID: "),
    sampled=True,
):
    """Parser of processes that are named beside their ranks."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say whose pid a line tells."""
        listed = _LISTED.search(line.text)
        if listed is not None:
            yield from _side_by_side(line, listed)
            return
        rank, local = line.origin.rank, line.origin.local_rank
        match = _OWN.match(line.text) if local is not None else None
        if match is None:
            found = (pattern.search(line.text) for pattern in _PATTERNS)
            match = next((m for m in found if m is not None), None)
            if match is None:
                return
            told = match.groupdict()
            rank = Rank(int(match["rank"])) if told.get("rank") is not None else None
            local = LocalRank(int(match["local"])) if told.get("local") is not None else None
        yield WorldSeen(
            **place(line), rank=rank, local_rank=local, pid=int(match["pid"]), listed=True
        )


def _side_by_side(line: Line, listed: re.Match[str]) -> Iterator[Event]:
    """The processes of ranks that are listed in the order of their pids."""
    ranks, pids = (_NUMBER.findall(listed[name]) for name in ("ranks", "pids"))
    if len(ranks) == len(pids) == len(set(pids)):
        for rank, pid in zip(ranks, pids, strict=True):
            yield WorldSeen(**place(line), rank=Rank(int(rank)), pid=int(pid), listed=True)
