"""A process that does not get on: asleep, busy, stopped, or stuck in native code."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from ..declared import Fault

_LONG_S = 3600.0


def sleep(fault: Fault) -> None:
    """Sleep, as a wait for storage or for a service does."""
    time.sleep(_seconds(fault))


def spin(fault: Fault) -> None:
    """Loop in Python: CPU time passes, other threads still get their turn."""
    end = time.monotonic() + _seconds(fault)
    while time.monotonic() < end:
        pass


def work(fault: Fault) -> None:
    """Do honest work: CPU time passes and the place in the program changes."""
    end = time.monotonic() + _seconds(fault)
    block = b"x" * (1 << 16)
    while time.monotonic() < end:
        block = _mix(block)


def _mix(block: bytes) -> bytes:
    return hashlib.sha256(block).digest() * 2048


def hold_gil(fault: Fault) -> None:
    """Keep the interpreter lock in one native call; no other thread runs meanwhile.

    Option `by`: `wait` (no CPU time), `sum` or `regex` (all of it).
    """
    by = fault.options.get("by", "wait")
    if by == "wait":
        _wait_in(ctypes.PyDLL(None))
    elif by == "sum":
        sum(range(10**15))
    else:
        re.match(r"(?:a+)+$", "a" * 64 + "b")


def hang_natively(fault: Fault) -> None:  # noqa: ARG001
    """Hang in native code that gave the interpreter lock back; other threads run."""
    _wait_in(ctypes.CDLL(None))


def _wait_in(library: ctypes.CDLL) -> None:
    """Lock a mutex twice: unlike a sleep, a signal does not end that."""
    mutex = ctypes.create_string_buffer(64)  # zeros are an unlocked mutex
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)


def wait_for_lock(fault: Fault) -> None:
    """Wait for a lock that nobody gives back."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=_seconds(fault))


def wait_for_child(fault: Fault) -> None:
    """Wait for a program that does not end, as a copy to a store that does not answer."""
    subprocess.run(["sleep", str(_seconds(fault))], check=False)


def open_pipe(fault: Fault) -> None:  # noqa: ARG001
    """Open a file that the kernel keeps waiting for: a pipe that nobody writes to."""
    folder = tempfile.mkdtemp(dir=".")
    os.mkfifo(f"{folder}/pipe")
    with open(f"{folder}/pipe", "rb"):
        return


def stop(fault: Fault) -> None:
    """Stop the whole process by a signal; with `for_s`, somebody else lets it go on then."""
    seconds = fault.options.get("for_s")
    if seconds is not None:
        # A shell of its own session: it must not stop together with its parent.
        subprocess.Popen(  # noqa: S602 - numbers only
            f"sleep {float(seconds)}; kill -CONT {os.getpid()}",
            shell=True,
            start_new_session=True,
        )
    os.kill(os.getpid(), signal.SIGSTOP)


def _seconds(fault: Fault) -> float:
    return float(fault.options.get("for_s", _LONG_S))
