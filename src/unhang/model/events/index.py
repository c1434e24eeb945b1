"""Events by their class: everything that judges asks for a few classes, again and again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from unhang.model.events.base import Seen

E = TypeVar("E", bound=Seen)


class EventIndex:
    """Events that do not change any more, found by class without looking at the others."""

    def __init__(self, events: Iterable[Seen]) -> None:
        self._by_class: dict[type[Seen], list[tuple[int, Seen]]] = {}
        for place, event in enumerate(events):
            self._by_class.setdefault(type(event), []).append((place, event))
        self._asked: dict[type[Seen], tuple[Seen, ...]] = {}

    @property
    def classes(self) -> frozenset[type[Seen]]:
        """The classes of which there are events."""
        return frozenset(self._by_class)

    def all(self, kind: type[E]) -> tuple[E, ...]:
        """The events of a class, or of all classes below it, in reading order."""
        if kind not in self._asked:
            found = [p for known, p in self._by_class.items() if issubclass(known, kind)]
            merged = found[0] if len(found) == 1 else sorted(chain(*found), key=itemgetter(0))
            self._asked[kind] = tuple(event for _, event in merged)
        return self._asked[kind]  # type: ignore[return-value]
