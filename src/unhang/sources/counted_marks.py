r"""From the beginning of an artifact to a prefix that names a host and counts its processes.

People who write their own launcher put two things before a line, in a shape of their own::

    [oak:3] Traceback (most recent call last):      c05/4> model = DDP(net)
    [wn-02] 2 setup() called                        r08@h100-01 learner up

Nothing says what the number is. How it is given out does: where every number from 0 on belongs to
one host only, it is the rank; where every host counts from 0 as far as the others, it is the local
rank. Anything else, such as a line of a source file or a process id, is no such number.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from unhang import lazy_re as re
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin

_HOST = r"(?P<host>[A-Za-z][\w.-]{0,60})"
_NUMBER = r"(?P<number>\d{1,5})"
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"[\[(<]{_HOST}[ :/|,#]{{1,2}}[rRgG]?{_NUMBER}[\])>]:? ?",
        rf"[\[(<][rRgG]?{_NUMBER}[ :/|,@]{{1,2}}{_HOST}[\])>]:? ?",
        rf"[\[(<]{_HOST}[\])>][ :]{{0,2}}[\[(<]?[rRgG]?{_NUMBER}[\])>]?[:|]? ",
        rf"{_HOST}[/#][rRgG]?{_NUMBER} ?[>|:] ?",
        rf"{_HOST}:[rRgG]?{_NUMBER} ?[>|] ?",
        rf"(?:[rR]|rank)?{_NUMBER}@{_HOST}[>|:]? ?",
    )
)
_READ = 600
"""Lines that are looked at."""
_FEWEST_LINES = 4
_SHARE = 0.3
"""Share of the lines that have it; runtimes print their own below."""
_NEARLY = 0.75
"""Share of the ranks that speak in the beginning."""


@dataclass(frozen=True, slots=True)
class CountedMarks:
    """A prefix of a host and a number, and what the number is.

    Attributes:
        shape: its form.
        hosts: those that were met.
        by_host: each host counts for itself.
        members: each host and number, with the first line that has them, counted from 1.
    """

    shape: re.Pattern[str]
    hosts: frozenset[str]
    by_host: bool
    members: Mapping[tuple[str, int], tuple[int, str]]

    def split(self, text: str) -> tuple[str, str, str] | None:
        """The mark of a line, the whole prefix, and what stands behind it."""
        match = self.shape.match(text)
        if match is None or match["host"] not in self.hosts:
            return None
        return f"{match['host']}:{match['number']}", match[0], text[match.end() :]

    def speaker(self, mark: str, origin: Origin) -> Origin:
        """Who speaks behind a mark."""
        host, _, number = mark.rpartition(":")
        if self.by_host:
            return replace(origin, host=host, local_rank=LocalRank(int(number)))
        return replace(origin, host=host, rank=Rank(int(number)))


def find_counted_marks(lines: Sequence[str]) -> CountedMarks | None:
    """Return the prefix of an artifact that begins with these lines, if it has such a one.

    >>> lines = [f"[{host}:{n}] up" for host, n in [("oak", 0), ("oak", 1), ("elm", 2)] * 2]
    >>> find_counted_marks(lines).by_host
    False
    >>> find_counted_marks([f"[loop.py:{n}] step" for n in (31, 52, 31, 52)]) is None
    True
    """
    full = [(n, line) for n, line in enumerate(lines, 1) if line.strip()][:_READ]
    return next((m for shape in _SHAPES if (m := _of_shape(shape, full)) is not None), None)


def _of_shape(shape: re.Pattern[str], lines: Sequence[tuple[int, str]]) -> CountedMarks | None:
    seen: Counter[tuple[str, int]] = Counter()
    first: dict[tuple[str, int], tuple[int, str]] = {}
    for number, line in lines:
        match = shape.match(line)
        if match is not None:
            member = match["host"], int(match["number"])
            seen[member] += 1
            first.setdefault(member, (number, line))
    if seen.total() < max(_FEWEST_LINES, _SHARE * len(lines)):
        return None
    numbers: dict[str, set[int]] = defaultdict(set)
    for host, number in seen:
        numbers[host].add(number)
    if len(numbers) < 2 or not (_are_ranks(numbers) or _are_local(numbers)):
        return None
    return CountedMarks(shape, frozenset(numbers), _are_local(numbers), first)


def _are_ranks(numbers: Mapping[str, set[int]]) -> bool:
    """Whether each number is of one host, and hardly any from 0 on is left out."""
    told = [number for of_host in numbers.values() for number in of_host]
    counted = max(told) + 1
    if len(set(told)) < len(told) or 0 not in told:
        return False
    if len(told) == counted:
        return True
    blocks = sorted((min(of_host), max(of_host)) for of_host in numbers.values())
    apart = all(one[1] < other[0] for one, other in pairwise(blocks))
    return apart and counted > _FEWEST_LINES and len(told) >= _NEARLY * counted


def _are_local(numbers: Mapping[str, set[int]]) -> bool:
    """Whether each host counts from 0 as far as the others."""
    first, *others = numbers.values()
    return len(first) > 1 and first == set(range(len(first))) and all(o == first for o in others)
