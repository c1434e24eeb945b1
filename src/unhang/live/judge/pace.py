"""What is usual here: how long ranks of this job stood still, paused or were waited for, by phase.

A limit is never below its floor. What was seen to end by itself raises it, to a multiple of a high
quantile; in phases where silence is common (a save to a slow disk) the limit is long until enough
has been seen to know better.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.phases import Phase

_KEPT = 64
"""Episodes that are remembered for each kind and phase; older ones are forgotten."""
_ENOUGH = 5
"""So many episodes make a habit."""
_MARGIN = 3.0
_QUANTILE = 0.95


class Habit(enum.Enum):
    """What lasts."""

    STILL = "still"
    """Nothing of a rank moves while others wait for it."""
    FROZEN = "frozen"
    """A probe does not beat while others wait."""
    LATE = "late"
    """Others wait for a rank that works."""
    TOGETHER = "together"
    """All members wait in one call."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds: never less, not more, and where to begin before anything is known."""

    least_s: float
    most_s: float
    first_s: float


_CODE = Bounds(6.0, 120.0, 6.0)
_WORK: Mapping[Phase, Bounds] = {
    Phase.SAVE: Bounds(45.0, 900.0, 180.0),
    Phase.LOAD: Bounds(45.0, 900.0, 180.0),
    Phase.COMPILE: Bounds(60.0, 1_800.0, 300.0),
    Phase.INIT: Bounds(45.0, 600.0, 120.0),
    Phase.DATA: Bounds(45.0, 900.0, 120.0),
    Phase.EVAL: Bounds(45.0, 900.0, 120.0),
    Phase.GENERATE: Bounds(45.0, 900.0, 120.0),
    Phase.LOGGING: Bounds(20.0, 300.0, 60.0),
    Phase.TEARDOWN: Bounds(5.0, 120.0, 5.0),
}
"""Phases in which a rank legitimately waits for a disk, a network, a compiler or a helper."""
_FROZEN = Bounds(6.0, 120.0, 6.0)
_LATE = Bounds(5.0, 3_600.0, 5.0)
_TOGETHER = Bounds(60.0, 1_800.0, 120.0)
"""A large transfer over a slow network looks the same; dumps decide much sooner."""


@dataclass(slots=True)
class Pace:
    """Episodes that ended by themselves, in seconds."""

    seen: dict[tuple[Habit, Phase | None], deque[float]] = field(default_factory=dict)

    def learn(self, habit: Habit, phase: Phase | None, lasted_s: float) -> None:
        """An episode ended by itself."""
        self.seen.setdefault((habit, phase), deque(maxlen=_KEPT)).append(lasted_s)

    def limit_s(self, habit: Habit, phase: Phase | None) -> float:
        """How long it may last before it counts as a hang (`LATE`: before it is worth a note)."""
        bounds = _bounds(habit, phase)
        seen = self.seen.get((habit, phase))
        if not seen:
            return bounds.first_s
        usual_s = _MARGIN * _high(seen)
        floor_s = bounds.least_s if len(seen) >= _ENOUGH else bounds.first_s
        return min(max(usual_s, floor_s), bounds.most_s)

    def usual_of_s(self, habit: Habit, phase: Phase | None) -> float:
        """What it mostly stays below; 0 before anything is known."""
        seen = self.seen.get((habit, phase))
        return _high(seen) if seen else 0.0

    def usual_s(self, habit: Habit) -> dict[str, float]:
        """What was learnt of one habit, by phase."""
        return {
            phase.value: round(_high(seen), 3)
            for (kind, phase), seen in self.seen.items()
            if kind is habit and phase is not None and seen
        }


def _bounds(habit: Habit, phase: Phase | None) -> Bounds:
    working = _WORK.get(phase) if phase is not None else None
    match habit:
        case Habit.LATE:
            return _LATE
        case Habit.TOGETHER:
            return _TOGETHER
        case Habit.STILL:
            return working or _CODE
        case Habit.FROZEN:
            return working or _FROZEN


def _high(seen: deque[float]) -> float:
    ordered = sorted(seen)
    return ordered[min(len(ordered) - 1, int(_QUANTILE * len(ordered)))]
