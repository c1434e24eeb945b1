"""Leaves the main thread's stack in a file when no beat comes, as while something holds the GIL.

The agent, which sees that, sends a signal to the process, whose handler is faulthandler's: it needs
no GIL, and the main thread writes its own stack. Not a timer of the process itself: a signal cuts a
system call short, and a library that sleeps or polls with the GIL would go on as if it had what it
waits for. Only who looks from outside can tell whether the thread is in such a call.

`faulthandler.dump_traceback_later` would do without a signal, and for all threads, but from a
thread of its own: it walks frames that the others are changing unless they do stand still. A beat
that is late on a busy machine is no freeze. With a hundred beats a second, two of fourteen short
trainings ended in a segmentation fault in that thread (Python 3.11); of thirty with the signal,
none.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os

SIGNAL = 53
"""A real-time signal, SIGRTMIN + 19, which nothing is known to use."""

PATIENCE_BEATS = 3
"""Beats that may fail to come before the stack is asked for."""

_IGNORE = ctypes.c_void_p(1)
"""`SIG_IGN`."""


class Freeze:
    """The handler, and the file that holds the last freeze and nothing else.

    Args:
        path: of the file.

    Raises:
        OSError: the file cannot be made, or somebody uses the signal.
    """

    def __init__(self, path: str) -> None:
        if _is_used(SIGNAL):
            raise OSError(f"signal {SIGNAL} is in use")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        # The interpreter takes its handler back at its end, and what stood before holds again while
        # libraries shut down, which may take seconds: a late signal must not end the process then.
        # (What the program starts does not inherit it: exec resets a signal that has a handler.)
        ctypes.PyDLL(None).signal(SIGNAL, _IGNORE)
        faulthandler.register(SIGNAL, file=self._file, all_threads=False)

    def beat(self) -> None:
        """What an earlier freeze left goes away."""
        if os.fstat(self._file).st_size:
            os.ftruncate(self._file, 0)


def _is_used(number: int) -> bool:
    """Whether the process catches, ignores or blocks a signal already."""
    with open("/proc/self/status", "rb") as file:
        lines = dict(line.split(b":\t", 1) for line in file.read().splitlines() if b":\t" in line)
    sets = (int(lines[name], 16) for name in (b"SigBlk", b"SigIgn", b"SigCgt"))
    return any(mask >> (number - 1) & 1 for mask in sets)
