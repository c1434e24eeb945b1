"""What a diagnosis may cost: memory and time, within which it says what it could read."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from unhang.errors import ArtifactError

MEMORY = 1 << 30
"""Bytes that a process may use unless told otherwise; most jobs need a tenth."""
_FOR_READING = 0.5
"""Share of them that reading may use: the judgement needs some, and so do results under way."""


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

    @classmethod
    def of(cls, memory: int | None = None, limit_s: float | None = None) -> Budget:
        """For a diagnosis that begins now.

        Args:
            memory: bytes; None = `MEMORY`.
            limit_s: seconds for reading; None = as long as it takes.
        """
        until = None if limit_s is None else time.monotonic() + limit_s
        return cls(MEMORY if memory is None else memory, until, held=_resident())

    def check(self) -> None:
        """Raise where nothing is left.

        Raises:
            BudgetSpent: the message says what was spent.
        """
        if self.until is not None and time.monotonic() >= self.until:
            raise BudgetSpent("the time limit was reached")
        if _resident() - self.held > _FOR_READING * self.memory / self.readers:
            raise BudgetSpent(
                f"the events took the {_told(self.memory)} of memory that they may use"
            )


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
