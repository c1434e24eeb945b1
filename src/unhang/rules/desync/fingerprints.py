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
        if event.other_rank is not None and event.other_runs is not None:
            sides.setdefault(event.other_rank, event.other_runs)
    aspect = _aspect(sides)
    odd = _odd(sides, aspect)
    if not odd or odd == frozenset(sides):
        odd = _lone_reporter(told, incident.world.size) or odd
    return FingerprintComparison(aspect=aspect, sides=sides, odd=odd, events=told)


def _lone_reporter(told: tuple[FingerprintMismatch, ...], world_size: int | None) -> Ranks:
    """The one rank that differs from rank 0, where no other rank says so of itself.

    Every rank but 0 compares itself with rank 0: the ranks that agree with it report nothing. In
    a world of two, and for rank 0 itself, the comparison is symmetric and tells nobody apart.
    """
    reporters = frozenset(event.rank for event in told)
    others = {event.other_rank for event in told}
    if world_size == 2 or len(reporters) != 1 or Rank(0) in reporters or others - {None, Rank(0)}:
        return NO_RANKS
    return reporters


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


def _odd(sides: dict[Rank, Fingerprint], aspect: FingerprintAspect) -> Ranks:
    """The ranks outside the one largest camp; all that are seen where no camp is the largest."""
    if aspect is FingerprintAspect.UNSEEN:
        return NO_RANKS
    if aspect is FingerprintAspect.ELSEWHERE:
        return frozenset(rank for rank, side in sides.items() if side.op is None)
    votes = Counter(sides.values())
    (best, count), *rest = votes.most_common()
    if rest and rest[0][1] == count:
        return frozenset(sides)
    return frozenset(rank for rank, side in sides.items() if side != best)
