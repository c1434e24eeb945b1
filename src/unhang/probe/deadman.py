"""The dead-man's switch: a judge that is silent for too long loses its power over timeouts.

Time is counted in steps of the one that looks, none longer than a moment: a process that was
stopped, a host that slept or a clock that jumped is no silence of the judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .recorder import GroupProgress

LONGEST_STEP_S = 2.0


class Switch:
    """Trips after `patience_s` without a sign, and is set again by the next one."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._last_beat: object = None
        self._sign = False
        self._looked_s: float | None = None
        self._silent_s = 0.0

    def saw(self, beat: object, *, judges: bool) -> None:
        """Note what the agent's file says; a beat that stands still is no sign."""
        if judges and beat is not None and beat != self._last_beat:
            self._last_beat = beat
            self._sign = True

    def tripped(self, now_s: float) -> bool:
        """Whether the judge is gone, at a monotonic time."""
        step_s = 0.0 if self._looked_s is None else now_s - self._looked_s
        self._looked_s = now_s
        self._silent_s += min(max(step_s, 0.0), LONGEST_STEP_S)
        if self._sign:
            self._sign, self._silent_s = False, 0.0
        return self._silent_s > self._patience_s


class InFlight:
    """Since when the oldest operation of each group is in flight."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[int, float]] = {}

    def see(self, progress: dict[str, GroupProgress], now_s: float) -> dict[str, tuple[int, float]]:
        """Return, for groups with something in flight, what had completed and since when."""
        standing: dict[str, tuple[int, float]] = {}
        for name, at in progress.items():
            if at.in_flight and at.completed is not None:
                completed, since_s = self._since.get(name, (-1, now_s))
                same = completed == at.completed
                standing[name] = (at.completed, since_s if same else now_s)
        self._since = standing
        return standing
