"""From what a job or a person says of which ranks are where to the host of each rank.

Reads, whatever the words between them are::

    rank map: gpu-h-113=0-7 gpu-h-114=8-15          [spawn] rank->host: 0 pine, 1 pine, 2 oak
    hosts rk01 rk02 rk03, 8 per host                hosts dgx-r1..r4 rank=8*(n-1)+gpu
    node-x6: start 4 procs, ranks 4-7               ranks 16-23 on gpu03
    c3 rank 2 up                                    rank 3/4 on qc091
    el09 slots=2                (a list of hosts)   vega-3 4 5

No wording tells that numbers are ranks of a job; how they are given out does: every number from 0
on stands beside one host, each host has as many, and there are several hosts. Where anything is
left out or given twice, nothing is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from unhang import lazy_re as re
from unhang.model.events import Event, WorldSeen
from unhang.model.forms import named
from unhang.model.host_lists import expand_hosts
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/placement.toml")
_SAYS_RANK = re.compile(r"\brank", re.IGNORECASE)
_NO_HOST = _PATTERNS["no_host"]
_SPANS, _ITEMS, _EACH = _PATTERNS["spans"], _PATTERNS["items"], _PATTERNS["each"]
_DOTS = re.compile(
    r"(?P<stem>[\w.-]*?)(?P<first>\d{1,6})\.\.+(?P=stem)?[A-Za-z_-]{0,20}(?P<last>\d{1,6})$"
)
_BESIDE = _PATTERNS["beside"]
_SLOTS = _PATTERNS["slots"]
_ROW = re.compile(r"\s{0,4}(?P<host>[A-Za-z][\w.-]{0,80})(?P<ranks>(?:[ ,]{1,3}\d{1,6}){1,16})\s*$")
_LONGEST = 4_000
_MOST_RANKS = 1 << 16
_MOST_ROWS = 4_096

Places = dict[int, str]


class PlacementParser(LineParser, name="placement", after=64, sampled=True):
    """Parser of who is where."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[Places, Line]] = {}
        self._spoiled: set[str] = set()
        self._slots: list[tuple[str, int]] = []
        self._slots_at: Line | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what one line lays out; collect what each says of one host."""
        text = line.raw[:_LONGEST]
        places = _of_one_line(text)
        if places is not None:
            yield from _say(line, places)
            return
        slots = _SLOTS.fullmatch(text)
        if slots is not None:
            self._slots_at = self._slots_at or line
            self._slots.append((slots["host"], int(slots["count"])))
            return
        yield from self._listed()
        row = _ROW.match(text)
        if row is not None and _NO_HOST.match(row["host"]) is None:
            ranks = [int(rank) for rank in row["ranks"].replace(",", " ").split()]
            self._take("rows", row["host"], ranks, line)
            return
        found = next(_BESIDE.finditer(text), None) if _SAYS_RANK.search(text) else None
        if found is not None:
            told = {key: value for key, value in found.groupdict().items() if value is not None}
            host = next(value for key, value in told.items() if key.startswith("host"))
            first = int(next(value for key, value in told.items() if key.startswith("first")))
            last = int(next((v for key, v in told.items() if key.startswith("last")), first))
            if _NO_HOST.match(host) is None and last - first < _MOST_RANKS:
                self._take("lines", host, range(first, last + 1), line)

    def finish(self) -> Iterator[Event]:
        """Say what the lines lay out together."""
        yield from self._listed()
        for kind, (places, line) in self._told.items():
            if kind not in self._spoiled and _is_whole(places):
                yield from _say(line, places)

    def _take(self, kind: str, host: str, ranks: Sequence[int], line: Line) -> None:
        places, _ = self._told.setdefault(kind, ({}, line))
        for rank in ranks:
            if places.setdefault(rank, host) != host or len(places) > _MOST_RANKS:
                self._spoiled.add(kind)

    def _listed(self) -> Iterator[Event]:
        """A list of hosts with their slots, which a launcher fills in this order."""
        slots, line = self._slots, self._slots_at
        self._slots, self._slots_at = [], None
        hosts = [host for host, count in slots for _ in range(min(count, _MOST_ROWS))]
        if line is not None and len({host for host, _ in slots}) == len(slots) > 1:
            yield from _say(line, dict(enumerate(hosts[:_MOST_RANKS])))


def _say(line: Line, places: Places) -> Iterator[Event]:
    for rank, host in sorted(places.items()):
        yield WorldSeen(**place(line), listed=True, rank=Rank(rank), host=host)


def _of_one_line(text: str) -> Places | None:
    """The hosts of all ranks, where one line lays them out."""
    each = _EACH.search(text)
    if each is not None:
        told = each.groupdict()
        count = int(next(told[key] for key in ("each", "times", "by") if told[key] is not None))
        hosts = list(_hosts(each["hosts"]))
        if len(set(hosts)) == len(hosts) > 1 and 0 < count * len(hosts) <= _MOST_RANKS:
            return dict(enumerate(host for host in hosts for _ in range(count)))
    if _SAYS_RANK.search(text) is None:
        return None
    for pattern in (_SPANS, _ITEMS):
        places: Places = {}
        count = 0
        for match in pattern.finditer(text):
            first = int(match["first"])
            last = int(match.groupdict().get("last") or first)
            if last - first >= _MOST_RANKS or _NO_HOST.match(match["host"]) is not None:
                return None
            count += last - first + 1
            places.update(dict.fromkeys(range(first, last + 1), match["host"]))
        if count == len(places) and _is_whole(places):
            return places
    return None


def _hosts(text: str) -> Iterator[str]:
    for part in re.split(r"[ ,]+(?![^\[]*\])", text.strip()):
        dots = _DOTS.match(part)
        if dots is None:
            yield from expand_hosts(part)
            continue
        first, last = int(dots["first"]), int(dots["last"])
        for number in range(first, min(last, first + _MOST_ROWS) + 1):
            yield f"{dots['stem']}{number:0{len(dots['first'])}d}"


def _is_whole(places: Mapping[int, str]) -> bool:
    """Whether all numbers from 0 on lie side by side on several hosts that have as many each."""
    if not 1 < len(places) == max(places, default=-1) + 1:
        return False
    by_host: dict[str, list[int]] = defaultdict(list)
    for rank in sorted(places):
        by_host[places[rank]].append(rank)
    sizes = {len(ranks) for ranks in by_host.values()}
    beside = all(b - a == 1 for ranks in by_host.values() for a, b in pairwise(ranks))
    around = all(b - a == len(by_host) for ranks in by_host.values() for a, b in pairwise(ranks))
    return len(by_host) > 1 and len(sizes) == 1 and (beside or around)
