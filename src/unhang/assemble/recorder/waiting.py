"""Who waits for whom, directly and through others, and who waits in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unhang.assemble.recorder.stands import Place, Stands
from unhang.model.ids import NO_RANKS, Rank, Ranks


class Waiting:
    """The graph of waits over all groups.

    Attributes:
        places: the calls that ranks wait in first of all, with those ranks.
        waits_for: for each waiting rank those that it waits for.
    """

    def __init__(self, stands: Stands) -> None:
        """Ask of each rank's first open call who keeps it from being done."""
        self._stands = stands
        self.waits_for: dict[Rank, Ranks] = {}
        places: dict[Place, set[Rank]] = {}
        for rank, first in stands.first.items():
            awaited = stands.members(first.place).awaited - {rank}
            if awaited:
                self.waits_for[rank] = awaited
                places.setdefault(first.place, set()).add(rank)
        self.places = {place: frozenset(ranks) for place, ranks in places.items()}

    @property
    def ranks(self) -> Ranks:
        """All that wait."""
        return frozenset(self.waits_for)

    def ends(self) -> Ranks:
        """Those that others wait for and that wait for nobody."""
        awaited = NO_RANKS.union(*(self._stands.members(p).awaited for p in self.places))
        return awaited - self.waits_for.keys() - self._stands.blind

    def leading_to(self, targets: Iterable[Rank]) -> Ranks:
        """Ranks that wait for one of `targets`, directly or through others, and these."""
        return frozenset(reachable(targets, self.waits_for))

    def circle(self) -> Ranks:
        """Ranks that keep each other waiting, whatever all others do.

        A call needs all of its members, so one circle is enough. Those without a dump do not
        count: nobody knows what they had issued.
        """
        keeping = {place: self._stands.members(place).keeping for place in self.places}
        following = {
            place: {self._stands.first[rank].place for rank in ranks if rank in self.waits_for}
            for place, ranks in keeping.items()
        }
        found: set[Rank] = set()
        for part in _circles(following):
            awaited = NO_RANKS.union(*(keeping[place] for place in part))
            found |= NO_RANKS.union(*(self.places[place] for place in part)) & awaited
        return frozenset(found)


def reachable(targets: Iterable[Rank], waits_for: Mapping[Rank, Ranks]) -> set[Rank]:
    """Ranks that lead to one of `targets`, directly or through others."""
    back: dict[Rank, list[Rank]] = {}
    shared: dict[Ranks, list[Rank]] = {}
    for rank, awaited in waits_for.items():
        shared.setdefault(awaited, []).append(rank)
    for awaited, ranks in shared.items():
        for target in awaited:
            back.setdefault(target, []).extend(ranks)
    found = set(targets)
    pending = list(found)
    while pending:
        for rank in back.pop(pending.pop(), ()):
            if rank not in found:
                found.add(rank)
                pending.append(rank)
    return found


def _circles(following: Mapping[Place, set[Place]]) -> list[list[Place]]:
    """Strongly connected parts of several places (Tarjan's algorithm, without recursion)."""
    numbers: dict[Place, int] = {}
    lowest: dict[Place, int] = {}
    stack: list[Place] = []
    parts: list[list[Place]] = []
    for start in following:
        if start in numbers:
            continue
        numbers[start] = lowest[start] = len(numbers)
        stack.append(start)
        path = [(start, iter(following[start]))]
        while path:
            place, rest = path[-1]
            after = next(rest, None)
            if after is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[place])
                if lowest[place] == numbers[place]:
                    part = stack[stack.index(place) :]
                    del stack[-len(part) :]
                    numbers.update(dict.fromkeys(part, len(following)))
                    if len(part) > 1:
                        parts.append(part)
            elif after not in numbers:
                numbers[after] = lowest[after] = len(numbers)
                stack.append(after)
                path.append((after, iter(following[after])))
            else:
                lowest[place] = min(lowest[place], numbers[after])
    return parts
