"""From printed times to one order of events, where their clocks allow it."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import Event
from unhang.model.time import Instant


class Timeline:
    """Orders events by time where clocks allow, else by place in the log.

    An event without a time takes the last time printed above it in its artifact. Position in a
    file orders events of one file only; different files are ordered by time, or not at all.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._times: dict[int, Instant] = {}
        self._places: dict[int, int] = {}
        last: dict[str, Instant] = {}
        for place, event in enumerate(events):
            artifact = event.source.artifact
            if event.at is not None:
                last[artifact] = event.at
            self._places[id(event)] = place
            if artifact in last:
                self._times[id(event)] = last[artifact]

    def time_of(self, event: Event) -> Instant | None:
        """When it happened, at best by the last time printed above it."""
        return self._times.get(id(event), event.at)

    def before(self, one: Event, other: Event) -> bool:
        """Whether `one` is earlier, as far as times (else places in one log) tell."""
        gap = self.gap_s(one, other)
        if gap is not None and abs(gap) >= _resolution(self.time_of(one), self.time_of(other)):
            return gap < 0
        return self._places[id(one)] < self._places[id(other)]

    def compare(self, one: Event, other: Event) -> int:
        """-1, 0 or 1 for `sorted` with `functools.cmp_to_key`."""
        if one is other:
            return 0
        return -1 if self.before(one, other) else 1

    def gap_s(self, later: Event, earlier: Event) -> float | None:
        """Seconds between two events, or None where their clocks cannot be compared."""
        a, b = self.time_of(later), self.time_of(earlier)
        return None if a is None or b is None else a.since(b)


def _resolution(a: Instant | None, b: Instant | None) -> float:
    return max(x.resolution_s for x in (a, b) if x is not None) if a or b else 0.0
