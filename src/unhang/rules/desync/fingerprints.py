"""What DETAIL mode's comparisons tell together: who runs what, who is odd, and in which respect."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from math import prod

from unhang.model.events import Fingerprint, FingerprintMismatch
from unhang.model.ids import NO_RANKS, Rank, Ranks, SeqId
from unhang.model.incident import Incident
from unhang.rules.desync.graph_traffic import is_graph_traffic


class FingerprintAspect(enum.Enum):
    """The first respect in which fingerprints differ."""

    OPERATION = "operation"
    PARAMETERS = "parameters"
    SHAPE = "shape"
    SEQUENCE = "sequence"
    UNSEEN = "unseen"
    """The other side is cut off."""
    ELSEWHERE = "elsewhere"
    """The other rank runs no collective that could be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintComparison:
    """All mismatches of one incident at the earliest sequence number that any of them names."""

    aspect: FingerprintAspect
    sides: dict[Rank, Fingerprint]
    odd: Ranks
    events: tuple[FingerprintMismatch, ...]


def compare(incident: Incident) -> FingerprintComparison | None:
    """Return what the mismatches tell, or None where there are none."""
    events = incident.all(FingerprintMismatch)
    if not events:
        return None
    told = _first_number(events)
    sides: dict[Rank, Fingerprint] = {}
    for event in told:
        sides.setdefault(event.rank, event.runs)
        for agreed in range(_agreed(event)):
            sides.setdefault(Rank(agreed), event.runs)
        if event.other_rank is not None and event.other_runs is not None:
            sides.setdefault(event.other_rank, event.other_runs)
    aspect = _aspect(sides)
    unseen = max(incident.world.size or 0, len(sides)) - len(sides)
    return FingerprintComparison(
        aspect=aspect, sides=sides, odd=_odd(sides, aspect, unseen), events=told
    )


_MOST_AGREED = 1024


def _agreed(event: FingerprintMismatch) -> int:
    """How many ranks, counted from 0, surely run what the reporter runs.

    Every rank compares itself with ranks 0, 1, 2 … and reports the first that differs
    (`ProcessGroupWrapper.cpp`, `verify_tensors`): "Rank 5 … but Rank 2" says that ranks 0 and 1
    agree with rank 5. So one report is a partial log: with three ranks or more everybody raises.
    """
    other = event.other_rank
    return 0 if other is None or event.other_runs is None else min(int(other), _MOST_AGREED)


def _first_number(events: tuple[FingerprintMismatch, ...]) -> tuple[FingerprintMismatch, ...]:
    """The mismatches of the first call that went wrong; later ones are its echoes."""
    numbers = [e.runs.seq for e in events if e.runs.seq is not None and e.runs.op is not None]
    if not numbers:
        return events
    first: SeqId = min(numbers)
    return tuple(e for e in events if e.runs.seq == first)


def _aspect(sides: dict[Rank, Fingerprint]) -> FingerprintAspect:
    prints = [p for p in sides.values() if p.op is not None]
    if len({p.op for p in prints}) > 1:
        return FingerprintAspect.OPERATION
    if any(p.op is None for p in sides.values()):
        return FingerprintAspect.ELSEWHERE
    shapes = {p.shape for p in prints}
    if len(shapes) > 1:
        return FingerprintAspect.PARAMETERS if _is_graph(prints) else FingerprintAspect.SHAPE
    if len({(p.dtype, p.device) for p in prints}) > 1:
        return FingerprintAspect.SHAPE
    if len({p.seq for p in prints}) > 1:
        return FingerprintAspect.SEQUENCE
    return FingerprintAspect.UNSEEN


def _is_graph(prints: list[Fingerprint]) -> bool:
    """Flat tensors are buckets and shards; tensors with dimensions are the program's own."""
    shapes = [p.shape for p in prints if p.shape is not None]
    if any(len(shape) != 1 for shape in shapes):
        return False
    return is_graph_traffic(prints[0].op or "", [prod(shape) for shape in shapes])


def _odd(sides: dict[Rank, Fingerprint], aspect: FingerprintAspect, unseen: int) -> Ranks:
    """The ranks outside the one largest camp; nobody where `unseen` ranks could outvote it.

    All that are seen where no camp is the largest. Of different numbers the lower one is behind:
    the comparison is itself a collective, so nobody gets ahead alone.
    """
    if aspect is FingerprintAspect.UNSEEN:
        return NO_RANKS
    if aspect is FingerprintAspect.ELSEWHERE:
        return frozenset(rank for rank, side in sides.items() if side.op is None)
    if aspect is FingerprintAspect.SEQUENCE:
        numbers = {rank: side.seq for rank, side in sides.items() if side.seq is not None}
        return frozenset(r for r, number in numbers.items() if number == min(numbers.values()))
    votes = Counter(sides.values())
    (best, count), *rest = votes.most_common()
    if rest and rest[0][1] == count:
        everybody = not unseen and max(sides) < len(sides)
        return frozenset(sides) if everybody else NO_RANKS
    if rest and rest[0][1] + unseen >= count:
        return NO_RANKS
    return frozenset(rank for rank, side in sides.items() if side != best)
