r"""From the times that a program prints for each of its ranks to what a step takes each of them.

Reads, whatever the parts are called::

    iter,rank,h2d_ms,fwd_ms,bwd_ms,allreduce_ms              (a table, and its rows)
    host-c worker2 step 3300 total 1.876 input 1.512 collective_wait 0.052
    Part 1 | batches 1183 | Sample+copy 212.793 | wait at epoch barrier 3.254s
    it=1700 a2a_wait_ms r0..r3: 2967 2988 21 3016  ffn_ms: 177 177 3358 177
    [0050] compute ms by rank: 0:414 1:416 2:1163 3:413 | barrier wait ms: 716 751 2 741
    c6 | ep0 it 40 | r0-3 data_t 0.02 0.01 0.02 0.02 | step_t 7.67
    INFO:root:Batch [0-40] fwdbwd=0.518s pull=0.169s         (whose file is a rank's)

The words of a name tell which part of the step it is. Traps: a mean over all ranks is nobody's;
memory, losses and shares in per cent are no times; the number behind `worker` need not be a rank
unless all such numbers count from 0; first steps are slow, so that the last few values count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import median

from unhang import lazy_re as re
from unhang.model.events import Event, Part, RankTimed
from unhang.model.ids import Rank
from unhang.model.toml import load
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_VALUE = r"\d{1,9}(?:\.\d{1,9})?"
_UNITS = {"ms": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "min": 6e4}
_UNIT = r"(?:ms|sec|us|min|s)(?![A-Za-z])"
_NAME = (
    r"(?<![A-Za-z\d_])"
    r"(?P<name>[A-Za-z\u4e00-\u9fff][\w+/()-]{0,40}(?: [A-Za-z(][\w+/()-]{0,30}){0,3}?)"
)
_NAMED = re.compile(
    rf"{_NAME}[\"']?[ \t]{{0,3}}(?:[:=][ \t]{{0,3}})?\[?(?P<value>{_VALUE})"
    rf"(?![\w./%:]{{0,40}}[/%:])[ ]?(?P<unit>{_UNIT})?(?![\w./%-])"
)
_BEFORE = re.compile(rf"{_NAME}[ \t:=\[(]{{0,4}}$")
_RUN = re.compile(rf"(?<![\w.:/-]){_VALUE}(?:,?[ \t]{{1,4}}{_VALUE}){{1,4095}}(?![\w./%:-])")
_KEY = r"(?:r(?:ank)?)?"
_KEYED = re.compile(
    rf"(?<![\w.:-]){_KEY}0[:=]{_VALUE}(?:,?[ \t]{{1,4}}{_KEY}\d{{1,5}}[:=]{_VALUE}){{1,4095}}"
)
_PAIR = re.compile(rf"(?P<rank>\d{{1,5}})[:=](?P<value>{_VALUE})")
_SPAN = re.compile(
    r"\br(?:anks?)?[ _]?(?P<first>\d{1,5}) ?(?:-|\.\.\.?|to|~) ?r?(?P<last>\d{1,5})\b"
)
_BY_RANK = re.compile(
    r"\b(?:by|per|of(?: each)?|each|all|over|across) ?ranks?\b|\(ms\)|\[$", re.IGNORECASE
)
_SPEAKER = re.compile(
    r"(?<![\w.])(?:rank|worker|trainer|part(?:ition)?|replica|proc(?:ess)?|r)[ _=:#-]?"
    r"(?P<rank>\d{1,5})(?![\w.-])",
    re.IGNORECASE,
)
_HEADER = re.compile(r"[\w.()/ -]{1,40}(?:[,;\t|][\w.()/ -]{1,40}){2,40}")
_CELLS = re.compile(r"[,;\t|]")
_OF_RANKS = frozenset({"rank", "global_rank", "rank_id", "worker", "proc", "process", "trainer"})
_WORDS = re.compile(r"[a-z\d]+|[\u4e00-\u9fff]{2}")
_DATA = load("unhang.parsers", "data/rank_times.toml")
_NO_PART = frozenset(_DATA["none"])
_PARTS = tuple(
    (Part(row["says"]), frozenset(row["words"]), frozenset(row.get("with", row["words"])))
    for row in _DATA["parts"]
)
"""A name has a word of each set."""
_REACH, _LONGEST = 64, 4_096
_LAST, _FEWEST = 5, 3
_MOST = 65_536


@dataclass(slots=True)
class _Series:
    values: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST))
    count: int = 0
    last: Line | None = None


class RankTimesParser(LineParser, name="rank-times", sampled=True):
    """Parser of the times of each rank."""

    def __init__(self) -> None:
        self._series: dict[tuple[Rank | None, bool, str], _Series] = {}
        self._columns: Sequence[str] = ()

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the times of this line."""
        text = line.text[:_LONGEST]
        if not self._row(line, text) and not self._lists(line, text):
            self._pairs(line, text)
        return iter(())

    def _row(self, line: Line, text: str) -> bool:
        """A table's header, or a row of it."""
        cells = [cell.strip().lower() for cell in _CELLS.split(text.strip())]
        if (
            _HEADER.fullmatch(text.strip())
            and _OF_RANKS & set(cells)
            and not cells[0][:1].isdigit()
        ):
            self._columns = cells
            return True
        if len(cells) != len(self._columns) or not _OF_RANKS & set(self._columns):
            return False
        told = dict(zip(self._columns, cells, strict=True))
        rank = next(told[name] for name in self._columns if name in _OF_RANKS)
        if not rank.isdigit():
            return False
        for name, value in told.items():
            if re.fullmatch(_VALUE, value) and part_of(name) is not None:
                self._keep(line, Rank(int(rank)), name, value, None)
        return True

    def _lists(self, line: Line, text: str) -> bool:
        """The values of many ranks, side by side."""
        span = _SPAN.search(text)
        first = 0 if span is None else int(span["first"])
        size = 0 if span is None else int(span["last"]) - first + 1
        found = False
        for keyed in _KEYED.finditer(text):
            pairs = _PAIR.findall(keyed[0])
            name = _name_before(text[: keyed.start()])
            if [int(rank) for rank, _ in pairs] != list(range(len(pairs))) or name is None:
                continue
            size, found = len(pairs), True
            for rank, value in pairs:
                self._keep(line, Rank(int(rank)), name, value, None)
        for run in _RUN.finditer(text) if size > 1 else ():
            values = run[0].replace(",", " ").split()
            name = _name_before(text[: run.start()])
            if len(values) != size or name is None:
                continue
            found = True
            for place_, value in enumerate(values):
                self._keep(line, Rank(first + place_), name, value, None)
        for match in _NAMED.finditer(text) if found else ():
            if part_of(match["name"]) is Part.WHOLE:  # the step is as long for all of them
                for place_ in range(size):
                    self._keep(line, Rank(first + place_), *match.group("name", "value", "unit"))
        return found

    def _pairs(self, line: Line, text: str) -> None:
        """The values of the rank that speaks, or that the line's head names."""
        rank, inline = line.origin.rank, False
        if rank is None and (named := _SPEAKER.search(text[:_REACH])) is not None:
            rank, inline = Rank(int(named["rank"])), True
        if rank is None and line.origin.local_rank is not None:
            return
        for match in _NAMED.finditer(text):
            self._keep(line, rank, match["name"], match["value"], match["unit"], inline=inline)

    def _keep(
        self,
        line: Line,
        rank: Rank | None,
        name: str,
        value: str,
        unit: str | None,
        *,
        inline: bool = False,
    ) -> None:
        name = " ".join(name.lower().split())
        part = part_of(name)
        if part is None or (part is Part.WHOLE and unit is None and "." not in value):
            return
        key = rank, inline, name
        if key not in self._series and len(self._series) >= _MOST:
            return
        series = self._series.setdefault(key, _Series())
        series.values.append(
            float(value) * (1.0 if part is Part.AMOUNT else _UNITS.get(unit or "", 1.0))
        )
        series.count += 1
        series.last = line

    def finish(self) -> Iterator[Event]:
        """Tell what a step takes each rank."""
        inline = {rank for rank, by_line, _ in self._series if by_line and rank is not None}
        counted = inline == set(range(len(inline)))
        for (rank, by_line, name), series in self._series.items():
            part = part_of(name)
            if series.count < _FEWEST or series.last is None or part is None:
                continue
            if by_line and not counted:
                continue
            fields = place(series.last)
            if rank is not None:
                fields["origin"] = replace(series.last.origin, rank=rank)
            typical = median(series.values)
            yield RankTimed(**fields, part=part, measure=name, typical=typical, count=series.count)


def _name_before(text: str) -> str | None:
    """What a list of values is of; None where its name tells of no part of a step."""
    match = _BEFORE.search(_BY_RANK.sub(" ", _SPAN.sub(" ", text[-120:])).rstrip(" :="))
    return match["name"] if match is not None and part_of(match["name"]) is not None else None


@lru_cache(maxsize=1024)
def part_of(name: str) -> Part | None:
    """Which part of a step a name tells of, by its words.

    >>> part_of("wait at epoch barrier"), part_of("data_wait_ms"), part_of("gpu mem")
    (<Part.WAIT: 'wait'>, <Part.DATA: 'data'>, None)
    """
    words = set(_WORDS.findall(name.lower()))
    if words & _NO_PART:
        return None
    return next((p for p, one, other in _PARTS if words & one and words & other), None)
