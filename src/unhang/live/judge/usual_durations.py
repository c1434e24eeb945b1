"""What is usual here: how long ranks of this job stood, and were waited for, by place and by phase.

Only what was seen to end by itself teaches anything. A place is a function of the program; its name
tells one place from another and means nothing else.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from unhang.model.phases import Phase

_KEPT = 64
"""Episodes that are remembered of one place; older ones are forgotten."""
_PLACES = 1_024
"""Places that are remembered; those of which nothing was heard for longest are forgotten."""
_QUANTILE = 0.95
_LATE_S = (5.0, 3.0, 3_600.0)
"""Others wait for so long before it is worth a note: at least, times the usual, at most."""

Where = Phase | str | None
"""What episodes are told apart by: a phase, a place of the program, or nothing."""


class DurationKind(enum.Enum):
    """What lasts."""

    STILL = "still"
    """Nothing of a rank moves, or its probe does not beat, while others wait for it."""
    LATE = "late"
    """Others wait for a rank."""
    TOGETHER = "together"
    """All members wait in one call."""


@dataclass(slots=True)
class UsualDurations:
    """Episodes that ended by themselves, in seconds."""

    seen: OrderedDict[tuple[DurationKind, Where], deque[float]] = field(default_factory=OrderedDict)

    def learn(self, habit: DurationKind, where: Where, lasted_s: float) -> None:
        """An episode ended by itself."""
        key = (habit, where)
        self.seen.setdefault(key, deque(maxlen=_KEPT)).append(lasted_s)
        self.seen.move_to_end(key)
        while len(self.seen) > _PLACES:
            self.seen.popitem(last=False)

    def usual_s(self, habit: DurationKind, *where: Where) -> float:
        """What it mostly stays below at any of these; 0 before anything is known."""
        known = (self.seen.get((habit, at)) for at in where)
        return max((_high(seen) for seen in known if seen), default=0.0)

    def late_s(self, *where: Where) -> float:
        """How long others wait for a rank at work before it is worth a note."""
        least_s, times, most_s = _LATE_S
        return min(max(least_s, times * self.usual_s(DurationKind.LATE, *where)), most_s)

    def phases_s(self) -> dict[str, float]:
        """How long each phase was mostly waited for at most."""
        return {
            at.value: round(_high(seen), 3)
            for (habit, at), seen in self.seen.items()
            if habit is DurationKind.LATE and isinstance(at, Phase)
        }


def _high(seen: deque[float]) -> float:
    ordered = sorted(seen)
    return ordered[min(len(ordered) - 1, int(_QUANTILE * len(ordered)))]
