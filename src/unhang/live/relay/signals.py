"""Signals as a file to read: who sent each, and whether the job got it already."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from dataclasses import dataclass

_TO_PASS_ON = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGTSTP,
    signal.SIGCONT,
)

_RECORD_BYTES = 128
_RECORD_HEAD = struct.Struct("=IiiI")
"""Of `struct signalfd_siginfo`: number, error, code, sender."""

_BY_KERNEL = 0x80
"""`SI_KERNEL`: typed at the terminal, or its hang-up."""

_SIGSET_BYTES = 128
_CLOEXEC_NONBLOCK = os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Received:
    """One signal.

    Attributes:
        by_terminal: the kernel sent it to the whole foreground group, as for Ctrl-C.
        by_us: it is our own.
        sender: number of the process that sent it; 0 = the kernel.
    """

    number: int
    by_terminal: bool
    by_us: bool
    sender: int


class Signals:
    """Everything that we are sent from now on, kept back until it is read.

    Signals that our parent told us to ignore (`nohup`) are left alone.
    """

    def __init__(self) -> None:
        heard = [s for s in _TO_PASS_ON if signal.getsignal(s) is not signal.SIG_IGN]
        wanted = {*heard, signal.SIGCHLD, signal.SIGWINCH}
        self.before: set[int] = set(signal.pthread_sigmask(signal.SIG_BLOCK, wanted))
        libc = ctypes.CDLL(None, use_errno=True)
        sigset = ctypes.create_string_buffer(_SIGSET_BYTES)
        libc.sigemptyset(sigset)
        for number in wanted:
            libc.sigaddset(sigset, int(number))
        self.descriptor: int = libc.signalfd(-1, sigset, _CLOEXEC_NONBLOCK)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "signalfd")

    def read(self) -> list[Received]:
        """Take all that have come; never waits."""
        found: list[Received] = []
        while True:
            try:
                record = os.read(self.descriptor, _RECORD_BYTES)
            except BlockingIOError:
                return found
            number, _, code, sender = _RECORD_HEAD.unpack_from(record)
            found.append(Received(number, code == _BY_KERNEL, sender == os.getpid(), sender))
