"""A process that ends: by an exception, a signal, or without a word."""

from __future__ import annotations

import builtins
import ctypes
import os
import signal

from ..declared import Fault


def raise_exception(fault: Fault) -> None:
    """Raise an exception of `type` with `message` in the program's own code."""
    kind = getattr(builtins, str(fault.options.get("type", "ValueError")), ValueError)
    raise kind(fault.options.get("message", "sample 1437 has no label"))


def leave(fault: Fault) -> None:
    """End the process at once with `code`, and nothing printed."""
    os._exit(int(fault.options.get("code", 0)))


def kill(fault: Fault) -> None:  # noqa: ARG001
    """End by the signal that nobody can catch."""
    os.kill(os.getpid(), signal.SIGKILL)


def corrupt_memory(fault: Fault) -> None:  # noqa: ARG001
    """Give back memory that was never handed out: the C library says so, and aborts."""
    mine = ctypes.create_string_buffer(256)
    ctypes.CDLL(None).free(ctypes.c_void_p(ctypes.addressof(mine) + 24))


def segfault(fault: Fault) -> None:  # noqa: ARG001
    """Read at address 0 in native code."""
    ctypes.string_at(0)
