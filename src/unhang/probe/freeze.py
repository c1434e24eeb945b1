"""Leaves the stacks of all threads in a file when no beat comes, as while the GIL is held.

`faulthandler` has a thread of its own that needs no GIL. It has one timer for the whole process:
where the program uses that itself, it keeps it, and the probe goes without.
"""

from __future__ import annotations

import faulthandler
import os
from typing import Any

PATIENCE_BEATS = 3
"""Beats that may fail to come before the stacks are written."""


class Freeze:
    """The timer, and the file that holds the last freeze and nothing else.

    Args:
        path: of the file.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o644)
        self._arm, self._disarm = (
            faulthandler.dump_traceback_later,
            faulthandler.cancel_dump_traceback_later,
        )
        self.taken = False
        """Whether the program itself uses the timer."""
        faulthandler.dump_traceback_later = self._program_arms
        faulthandler.cancel_dump_traceback_later = self._program_disarms

    def beat(self, interval_s: float) -> None:
        """Begin to wait anew; what an earlier freeze left goes away."""
        if self.taken:
            return
        self._disarm()
        if os.fstat(self._file).st_size:
            os.ftruncate(self._file, 0)
        self._arm(interval_s * PATIENCE_BEATS, repeat=False, file=self._file, exit=False)

    def stop(self) -> None:
        """Wait no longer."""
        if not self.taken:
            self._disarm()

    def _program_arms(self, *args: Any, **kwargs: Any) -> Any:
        self.taken = True
        return self._arm(*args, **kwargs)

    def _program_disarms(self) -> None:
        if self.taken:
            self.taken = False
            self._disarm()
