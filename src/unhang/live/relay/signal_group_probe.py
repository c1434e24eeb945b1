"""Tells a signal that was sent to the whole process group from one that was sent to us alone.

The kernel does not say: `kill PID` and `kill -- -GROUP` look alike to who receives them. So a
second process stands in our group and does nothing but receive: what it gets as well was sent to
all, and the job, which is in the group, has it already. `timeout`, `scancel` and `kill -TERM -PGID`
do that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import struct
import time

from unhang.live.relay.signals import Received, Signals

_RECORD = struct.Struct("=iI")
_SET_PDEATHSIG, _SET_NAME = 1, 15

_TOGETHER_S = 1.0
"""Two signals of one sender that come within this time are one that was sent to all."""


class SignalGroupProbe:
    """The process, and what it has received.

    It must be made before threads are, and before the job's streams are opened, whose ends it would
    keep open.

    Args:
        signals: what it and we receive; already kept back.
    """

    def __init__(self, signals: Signals) -> None:
        self._seen: dict[tuple[int, int], float] = {}
        parent = os.getpid()
        source, end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _stand_by(parent, signals, end)
        os.close(end)
        os.set_blocking(source, False)
        self.descriptor: int | None = source

    def read(self) -> None:
        """Take what it has told us; never waits."""
        if self.descriptor is None:
            return
        try:
            data = os.read(self.descriptor, 64 * _RECORD.size)
        except BlockingIOError:
            return
        if not data:  # somebody has killed it: nothing tells any more
            os.close(self.descriptor)
            self.descriptor = None
        for number, sender in _RECORD.iter_unpack(data):
            self._seen[number, sender] = time.monotonic()

    def take(self, received: Received) -> bool:
        """Whether it got this signal, too; it answers so once for each."""
        at_s = self._seen.pop((received.number, received.sender), None)
        return at_s is not None and time.monotonic() - at_s < _TOGETHER_S

    def close(self) -> None:
        """End it."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _stand_by(parent: int, signals: Signals, end: int) -> None:
    """Be that process: own nothing of our parent's, and end with it."""
    try:
        prctl = ctypes.CDLL(None).prctl
        prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        prctl(_SET_NAME, b"unhang-group_probe", 0, 0, 0)
        if os.getppid() != parent:
            return
        _keep_only({signals.descriptor, end})
        while True:
            select.select([signals.descriptor], [], [])
            for received in signals.read():
                os.write(end, _RECORD.pack(received.number, received.sender))
    finally:
        os._exit(0)


def _keep_only(kept: set[int]) -> None:
    first = 0
    for number in sorted(kept):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
