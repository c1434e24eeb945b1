"""What a diagnosis may cost: memory and time, within which it says what it could read."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from unhang.errors import ArtifactError

MEMORY = 1 << 30
"""Bytes that a process may use unless told otherwise; most jobs need a tenth."""
_FOR_READING = 1 / 3
"""Share of them that reading may use: to judge many events takes twice what they take."""
_UNDER_WAY = 0.2
"""Share that all workers may use: what they found is kept again where it is gathered."""
_OF_A_WORKER = 64 << 20
"""Bytes that a worker needs to be of use."""

_MADE_LATER = 8 << 20
"""Bytes of the patterns and tables of reading that are made when they are first asked."""

_before: int | None = None
"""Bytes that this worker held before it read; None where it is none."""


class BudgetSpent(ArtifactError):
    """Reading ended early: there is no memory or time left for more."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be used; can be sent to other processes of this machine.

    Attributes:
        memory: bytes for all processes together.
        until: on the monotonic clock, or None where time does not matter.
        readers: processes that share it.
    """

    memory: int = MEMORY
    until: float | None = None
    readers: int = 1
    held: int = 0
    """Bytes that the process held before."""
    share: float = _FOR_READING

    @classmethod
    def of(cls, memory: int | None = None, limit_s: float | None = None) -> Budget:
        """For a diagnosis that begins now.

        Args:
            memory: bytes; None = `MEMORY`.
            limit_s: seconds for reading; None = as long as it takes.
        """
        until = None if limit_s is None else time.monotonic() + limit_s
        return cls(MEMORY if memory is None else memory, until, held=_resident())

    def ready(self) -> Budget:
        """The same, now that all is loaded that reading takes: from here on it counts."""
        return replace(self, held=_resident() + _MADE_LATER)

    def for_workers(self, processes: int) -> Budget:
        """What each of so many workers may use."""
        return replace(self, readers=processes, share=_UNDER_WAY)

    def workers(self, processes: int) -> int:
        """How many of so many processes there is memory for."""
        return max(1, min(processes, self.memory // _OF_A_WORKER))

    def check(self) -> None:
        """Raise where nothing is left.

        Raises:
            BudgetSpent: the message says what was spent.
        """
        if self.until is not None and time.monotonic() >= self.until:
            raise BudgetSpent("the time limit was reached")
        held = self.held if _before is None else _before
        if _resident() - held > self.share * self.memory / self.readers:
            raise BudgetSpent(
                f"the events took the {_told(self.memory)} of memory that they may use"
            )


def begin_worker() -> None:
    """Note what a worker holds that has loaded all that reading takes."""
    global _before  # noqa: PLW0603 (one process, one budget)
    _before = _resident() + _MADE_LATER


def _told(size: int) -> str:
    return f"{size / (1 << 30):.3g} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def _resident() -> int:
    """Bytes that this process holds, where the system tells; else the most that it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return _most_held()
    return pages * os.sysconf("SC_PAGE_SIZE")


def _most_held() -> int:
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
