"""Remembers since when something is as it is."""

from __future__ import annotations

from typing import Any


class UnchangedSince:
    """Of one thing that is looked at again and again."""

    def __init__(self) -> None:
        self._looked = False
        self._last: Any = None
        self._since_s = 0.0

    def see(self, now: Any, at_s: float) -> float:
        """Return the time since which it equals `now`; `at_s` is the time of this look."""
        if not self._looked or now != self._last:
            self._looked, self._last, self._since_s = True, now, at_s
        return self._since_s
