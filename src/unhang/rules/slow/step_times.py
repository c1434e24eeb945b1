"""From the times of each rank to the few that the others wait for in every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from unhang import lazy_re as re
from unhang.model.events import Part, RankTimed
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Incident

_APART = 3.0
"""Times their own differences that those who wait and those who are late must lie apart."""
_MOST_OF = 0.6
_LONGER = 1.3
_EXPLAINED = 0.4, 2.5
"""What a late rank works longer must be what the others wait longer: between these shares of it."""
_SCALES = (1.0, 1e3, 1e-3)
"""One measure may be in seconds and another in milliseconds, where a program prints no unit."""
_SHARE = 0.25
"""Of a step, from which a wait counts."""
_ALIKE = 1.2
_TWO = 2
_WORK = (Part.DATA, Part.COPY, Part.COMPUTE)
_NUMBER = re.compile(r"\d{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """Ranks that work longer than all others, which wait for them.

    Attributes:
        ranks: they.
        others: the ranks that wait.
        part: what takes them longer.
        told: that of one of them.
        usual: that of one of the others.
        share: of a step that the others wait, 0 to 1.
        more: they have more to do, by what they count.
    """

    ranks: Ranks
    others: Ranks
    part: Part
    told: RankTimed
    usual: RankTimed
    share: float
    more: RankTimed | None


_Table = Mapping[tuple[Part, str], Mapping[Rank, RankTimed]]


def find_straggler(incident: Incident) -> Straggler | None:
    """The few that the others wait for in every step; None where no times tell them apart."""
    table = _table(incident)
    found = [s for late in _late(table) if (s := _compare(table, late)) is not None]
    return max(found, key=lambda s: s.share, default=None)


def _table(incident: Incident) -> _Table:
    """The last times of each measure by rank."""
    table: dict[tuple[Part, str], dict[Rank, RankTimed]] = {}
    timed = incident.all(RankTimed)
    numbered = _by_file(timed)
    for event in timed:
        rank = event.origin.rank
        if rank is None:
            rank = numbered.get(event.source.artifact)
        if rank is not None:
            table.setdefault((event.part, event.measure), {})[rank] = event
    return table


def _by_file(timed: tuple[RankTimed, ...]) -> Mapping[str, Rank]:
    """The ranks of files that sign nothing, where their names differ in a count from 0 alone."""
    files = {e.source.artifact for e in timed if e.origin.rank is None}
    shapes: dict[str, dict[str, Rank]] = {}
    for name in files:
        for match in _NUMBER.finditer(name):
            shape = f"{name[: match.start()]}#{name[match.end() :]}"
            shapes.setdefault(shape, {})[name] = Rank(int(match[0]))
    whole = [
        s for s in shapes.values() if len(s) == len(files) and set(s.values()) == set(range(len(s)))
    ]
    return whole[0] if len(whole) == 1 and len(files) > 1 else {}


def _late(table: _Table) -> Iterator[tuple[Ranks, Ranks, float | None]]:
    """Who may be late, the others, and how much longer these wait, where that is told."""
    for (part, _), by_rank in table.items():
        little, much = _parted(by_rank) if part in (Part.WAIT, Part.DATA) else (NO_RANKS, NO_RANKS)
        if not little:
            continue
        if part is Part.WAIT and len(little) <= len(much):
            yield little, much, _of(by_rank, much) - _of(by_rank, little)
        elif part is Part.DATA and len(much) <= len(little):
            yield much, little, None


def _parted(by_rank: Mapping[Rank, RankTimed]) -> tuple[Ranks, Ranks]:
    """Those of little and those of much, where they lie far apart; else nobody."""
    ordered = sorted(by_rank, key=lambda rank: by_rank[rank].typical)
    values = [by_rank[rank].typical for rank in ordered]
    if len(values) < _TWO:
        return NO_RANKS, NO_RANKS
    gap, at = max((high - low, place) for place, (low, high) in enumerate(pairwise(values), 1))
    within = max(values[at - 1] - values[0], values[-1] - values[at])
    if gap <= _APART * within:
        return NO_RANKS, NO_RANKS
    return frozenset(ordered[:at]), frozenset(ordered[at:])


def _of(by_rank: Mapping[Rank, RankTimed], ranks: Ranks) -> float:
    return median(by_rank[rank].typical for rank in ranks if rank in by_rank)


def _compare(table: _Table, told: tuple[Ranks, Ranks, float | None]) -> Straggler | None:
    """What takes the late ranks longer, where that explains the wait of the others."""
    late, others, gap = told
    everybody = late | others
    excess: dict[tuple[Part, str], float] = {}
    for key, by_rank in table.items():
        if key[0] in _WORK and by_rank.keys() == everybody:
            own, usual = _of(by_rank, late), _of(by_rank, others)
            if own >= _LONGER * usual:
                excess[key] = own - usual
    if not excess:
        return None
    step = _step(table, everybody)
    total = sum(excess.values())
    if gap is None:
        # Nobody prints a wait: all step at one pace, and only the late ones work all the time.
        gap = total
        if step is None or total < _MOST_OF * step:
            return None
    least, most = (share * gap for share in _EXPLAINED)
    scale = next((scale for scale in _SCALES if least <= scale * total <= most), None)
    if scale is None:
        return None
    main = max(excess, key=lambda key: excess[key])
    by_rank = table[main]
    whole = step if step is not None and step > gap else gap + scale * _of(by_rank, others)
    return Straggler(
        ranks=late,
        others=others,
        part=main[0],
        told=by_rank[min(late)],
        usual=by_rank[min(others)],
        share=gap / whole,
        more=_more(table, late, others),
    )


def _step(table: _Table, everybody: Ranks) -> float | None:
    """How long a step takes, where it takes all ranks alike."""
    for (part, _), by_rank in table.items():
        values = [event.typical for event in by_rank.values()]
        if (
            part is Part.WHOLE
            and by_rank.keys() <= everybody
            and max(values) <= _ALIKE * min(values)
        ):
            return median(values)
    return None


def _more(table: _Table, late: Ranks, others: Ranks) -> RankTimed | None:
    """What says that the late ranks have more to do."""
    for (part, _), by_rank in table.items():
        if part is Part.AMOUNT and by_rank.keys() == late | others:
            least = min(by_rank[rank].typical for rank in late)
            if least >= _LONGER * max(by_rank[rank].typical for rank in others):
                return by_rank[min(late)]
    return None


def is_long(straggler: Straggler) -> bool:
    """Whether the others wait a good part of each step, not merely a little."""
    return straggler.share >= _SHARE
