"""The clock of a run: that of the host when the run began, and no jump ever after.

Hosts set their clocks right while jobs run, by seconds or by hours. All times in the record of a
run come from here, so that they keep their order and their distances; that the host's own clock
went another way is told by `ahead_s`. Time in which the host slept counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass(frozen=True, slots=True)
class RunClock:
    """The clock.

    Attributes:
        boot_s: epoch at which the host's count of seconds since boot was 0.
    """

    boot_s: float

    @classmethod
    def begin(cls) -> RunClock:
        """The clock of a run that begins now."""
        return cls(time.time() - _up_s())

    def now_s(self) -> float:
        """Epoch seconds."""
        return self.boot_s + _up_s()

    def stamp(self, at_s: float | None = None) -> str:
        """That time, or the present one, as all records of a run write it."""
        moment = datetime.fromtimestamp(self.now_s() if at_s is None else at_s, timezone.utc)
        return moment.isoformat(timespec="milliseconds")

    def ahead_s(self) -> float:
        """By how much the host's clock has left this one behind; negative = it was set back."""
        return time.time() - self.now_s()


def _up_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
