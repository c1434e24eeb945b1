"""Leaves the main thread's stack in a file when no beat comes, as while something holds the GIL.

A timer of the kernel is set back at each beat; when it runs out, it sends a signal to the main
thread, whose handler is faulthandler's: it needs no GIL, and the thread writes its own stack.

`faulthandler.dump_traceback_later` would do without a signal, and for all threads, but from a
thread of its own: it walks frames that the others are changing unless they do stand still. A beat
that is late on a busy machine is no freeze, nor is a process that goes on after SIGSTOP. With a
hundred beats a second, two of fourteen short trainings ended in a segmentation fault in that thread
(Python 3.11); of thirty with the signal, none.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import time

SIGNAL = 53
"""A real-time signal, SIGRTMIN + 19, which nothing is known to use."""

PATIENCE_BEATS = 3
"""Beats that may fail to come before the stack is written."""

_CLOCK_MONOTONIC, _SIGEV_THREAD_ID = 1, 4
_IGNORE = ctypes.c_void_p(1)
"""`SIG_IGN`."""


class _Event(ctypes.Structure):
    """`struct sigevent`: whom a timer tells, and how."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("how", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("reserved", ctypes.c_int * 11),
    )


class _Times(ctypes.Structure):
    """`struct itimerspec`: how often, and when first."""

    _fields_ = (
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("in_s", ctypes.c_long),
        ("in_ns", ctypes.c_long),
    )


class Freeze:
    """The timer, and the file that holds the last freeze and nothing else.

    Args:
        path: of the file.

    Raises:
        OSError: the file or the timer cannot be made, or somebody uses the signal.
    """

    def __init__(self, path: str) -> None:
        self._clock = _clock_functions()
        if _is_used(SIGNAL):
            raise OSError(f"signal {SIGNAL} is in use")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        # The interpreter takes its handler back at its end, and what stood before holds again while
        # libraries shut down, which may take seconds: a late signal must not end the process then.
        # (What the program starts does not inherit it: exec resets a signal that has a handler.)
        self._clock.signal(SIGNAL, _IGNORE)
        faulthandler.register(SIGNAL, file=self._file, all_threads=False)
        self._last_s = time.monotonic()
        self._timer = ctypes.c_void_p()
        # The number of the main thread is that of the process.
        event = _Event(signal=SIGNAL, how=_SIGEV_THREAD_ID, thread=os.getpid())
        made = self._clock.timer_create(
            _CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)
        )
        if made != 0:
            raise OSError("the kernel makes no timer")

    def beat(self, interval_s: float) -> None:
        """Begin to wait anew; what an earlier freeze left goes away."""
        patience_s = interval_s * PATIENCE_BEATS
        self._set(patience_s)
        now_s = time.monotonic()
        if now_s - self._last_s >= patience_s:
            os.ftruncate(self._file, 0)
        self._last_s = now_s

    def stop(self) -> None:
        """Wait no longer."""
        self._set(0.0)

    def _set(self, in_s: float) -> None:
        whole = int(in_s)
        times = _Times(in_s=whole, in_ns=int((in_s - whole) * 1e9))
        self._clock.timer_settime(self._timer, 0, ctypes.byref(times), None)


def _clock_functions() -> ctypes.PyDLL:
    for library in (None, "librt.so.1"):  # before glibc 2.34 they were in a library of their own
        # Not `CDLL`: it would give the GIL away for a call of less than a microsecond.
        functions = ctypes.PyDLL(library)
        if hasattr(functions, "timer_create"):
            return functions
    raise OSError("no timers in this C library")


def _is_used(number: int) -> bool:
    """Whether the process catches, ignores or blocks a signal already."""
    with open("/proc/self/status", "rb") as file:
        lines = dict(line.split(b":\t", 1) for line in file.read().splitlines() if b":\t" in line)
    sets = (int(lines[name], 16) for name in (b"SigBlk", b"SigIgn", b"SigCgt"))
    return any(mask >> (number - 1) & 1 for mask in sets)
