"""The graph whose nodes are calls: from a call to those that its awaited members wait in.

A call needs all of its members. So one path from it to a rank that waits for nobody explains it,
and one cycle of calls keeps all of them open, whatever else they lack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.waits import Wait


class WaitGraph:
    """Who waits for whom, over all groups.

    Every step is linear in the sizes of the waits' sets.

    Attributes:
        waits: the calls.
        waiting: all that wait in one of them.
        held_up: those that wait for other ranks: in a call that somebody keeps, or may keep.
    """

    def __init__(self, waits: Sequence[Wait]) -> None:
        """Find, for each rank, the calls it waits in and the calls that wait for it."""
        self.waits = waits
        self.waits_in: dict[Rank, list[int]] = {}
        self.kept_by: dict[Rank, list[int]] = {}
        self._above: dict[tuple[int, ...], dict[int, int | None]] = {}
        held: set[Rank] = set()
        for index, wait in enumerate(waits):
            for rank in wait.held_up:
                self.waits_in.setdefault(rank, []).append(index)
            for rank in wait.keeping:
                self.kept_by.setdefault(rank, []).append(index)
            if wait.awaited or wait.held or wait.unknown:
                held |= wait.held_up
        self.waiting: Ranks = frozenset(self.waits_in)
        for index, wait in enumerate(waits):
            # An unknown rank leads further only where it waits elsewhere by another witness.
            few = len(wait.unknown) < len(self.waiting)
            for rank in wait.unknown if few else self.waiting:
                if rank in self.waiting and rank in wait.unknown and rank not in wait.keeping:
                    self.kept_by.setdefault(rank, []).append(index)
        self.held_up: Ranks = frozenset(held)

    def above(self, indices: Iterable[int]) -> Mapping[int, int | None]:
        """Calls that lead to some calls, and these; each with the next one on its way there."""
        first = tuple(indices)
        if first not in self._above:
            after: dict[int, int | None] = dict.fromkeys(first)
            todo, seen = list(first), set[Rank]()
            for index in todo:
                new = self.waits[index].held_up - seen
                seen |= new
                for rank in new:
                    for other in self.kept_by.get(rank, ()):
                        if other not in after:
                            after[other] = index
                            todo.append(other)
            self._above[first] = after
        return self._above[first]

    def victims(self, rank: Rank) -> Ranks:
        """All that wait for a rank, directly or through others."""
        above = self.above(self.kept_by.get(rank, ()))
        return NO_RANKS.union(*(self.waits[index].held_up for index in above)) - {rank}

    def chain(self, rank: Rank) -> tuple[int, ...]:
        """The longest of the shortest ways to a rank: calls, the farthest one first."""
        above = self.above(self.kept_by.get(rank, ()))
        last = next(reversed(above), None)
        found: list[int] = []
        while last is not None:
            found.append(last)
            last = above[last]
        return tuple(found)

    def cycles(self) -> list[list[int]]:
        """Calls that keep each other open; unknown members keep nobody."""
        following: list[set[int]] = [set() for _ in self.waits]
        for index, wait in enumerate(self.waits):
            for rank in wait.keeping:
                following[index].update(self.waits_in.get(rank, ()))
            following[index].discard(index)
        return _components(following)


def _components(following: Sequence[set[int]]) -> list[list[int]]:
    """Strongly connected parts of several nodes (Tarjan's algorithm, without recursion)."""
    numbers: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    parts: list[list[int]] = []
    for start in range(len(following)):
        if start in numbers:
            continue
        numbers[start] = lowest[start] = len(numbers)
        stack.append(start)
        path = [(start, iter(following[start]))]
        while path:
            node, rest = path[-1]
            after = next(rest, None)
            if after is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    part: list[int] = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                    numbers.update(dict.fromkeys(part, len(following)))
                    if len(part) > 1:
                        parts.append(sorted(part))
            elif after not in numbers:
                numbers[after] = lowest[after] = len(numbers)
                stack.append(after)
                path.append((after, iter(following[after])))
            else:
                lowest[node] = min(lowest[node], numbers[after])
    return parts
