"""Leaves behind what a drill is judged by: the second of a fault, dumps and stacks of this rank.

In the drill's folder (`UNHANG_DRILL`)::

    kit/ranks/3.json     {"rank": 3, "pid": 4711}
    kit/joined/3         it has come to the making of the default group
    kit/acts/3-4711.json one line for each fault, written just before it happens
    kit/order            each time that it is touched, every rank writes its dump
    dumps/trace_3        Flight Recorder, as torch pickles it
    stacks/stack_3.txt   all threads by faulthandler; needs no interpreter lock
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import faulthandler
import json
import os
import select
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import TextIO

from .declared import STACK_SIGNAL, Fault

_POLL_S = 0.2
_LAST_S = 5.0
_DEFAULT, _IGNORE = 0, 1
"""`SIG_DFL` and `SIG_IGN`."""


class FaultWitness:
    """What one process leaves; does nothing where there is no folder."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._rank: int | None = None
        self._stacks: TextIO | None = None
        self._lock = threading.Lock()
        self._dumped = False

    def register(self, rank: int) -> None:
        """Say that this process is a rank, and be ready to tell where it stands."""
        if self._folder is None or self._rank == rank:
            return
        self._rank = rank
        for name in ("kit/ranks", "kit/joined", "kit/acts", "dumps", "stacks"):
            os.makedirs(self._path(name), exist_ok=True)
        self._stacks = open(self._path(f"stacks/stack_{rank}.txt"), "w")  # noqa: SIM115
        self._stacks.write(f"=== Rank {rank} (pid {os.getpid()}) ===\n")
        self._stacks.flush()
        # What stood before holds again once the interpreter has ended, while libraries shut down:
        # somebody who asks for stacks then must not end the rank.
        _set_action(STACK_SIGNAL, _IGNORE)
        faulthandler.register(STACK_SIGNAL, file=self._stacks, all_threads=True)
        self._answer_signals_and_orders()
        self._write(f"kit/ranks/{rank}.json", {"rank": rank, "pid": os.getpid()})

    def join(self) -> None:
        """Say that this rank now makes the default group: its imports are over."""
        if self._folder is not None:
            self._write(f"kit/joined/{self._rank}", {})

    def has_registered_ancestor(self, rank: int) -> bool:
        """Whether this process was started by the rank: it has inherited its environment only."""
        if self._folder is None:
            return False
        try:
            with open(self._path(f"kit/ranks/{rank}.json")) as file:
                registered = json.load(file)["pid"]
        except (OSError, ValueError):
            return False
        return registered in _ancestors()

    def note(self, fault: Fault, rank: int | None) -> None:
        """Write down that a fault happens now."""
        if self._folder is None:
            return
        os.makedirs(self._path("kit/acts"), exist_ok=True)
        row = {
            "what": fault.what,
            "rank": rank,
            "at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        }
        with open(self._path(f"kit/acts/{rank}-{os.getpid()}.json"), "a") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def dump(self, *, again: bool = False) -> None:
        """Write the Flight Recorder of this rank.

        Args:
            again: an order replaces what was written before; an end does not, because the dump
                that was taken while all waited tells more.
        """
        c10d = sys.modules.get("torch._C._distributed_c10d")
        with self._lock:
            if c10d is None or not hasattr(c10d, "_dump_fr_trace") or (self._dumped and not again):
                return
            self._dumped = True
            trace = c10d._dump_fr_trace(True, True, False)
            target = self._path(f"dumps/trace_{self._rank}")
            with open(target + ".part", "wb") as file:
                file.write(trace)
            os.replace(target + ".part", target)

    def _answer_signals_and_orders(self) -> None:
        """Dump on an order, on an exception, and on the signal by which launchers end the others.

        A signal handler of Python's waits until native code returns, and a rank that waits in a
        collective does not; the descriptor that C writes to at once wakes a thread instead.
        """
        ending, signalled = os.pipe()
        if threading.current_thread() is threading.main_thread():
            os.set_blocking(signalled, False)
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, _keep)
                signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
                os.register_at_fork(after_in_child=_forget)
        self._dump_on_exception()
        threading.Thread(target=self._answer, args=(ending,), daemon=True).start()

    def _dump_on_exception(self) -> None:
        """An uncaught exception is the end: dump before it is printed."""
        before = sys.excepthook

        def report(
            kind: type[BaseException], error: BaseException, trace: TracebackType | None
        ) -> None:
            self.dump()
            before(kind, error, trace)

        sys.excepthook = report

    def _answer(self, ending: int) -> None:
        answered = 0
        while True:
            ready, _, _ = select.select([ending], [], [], _POLL_S)
            if ready and signal.SIGTERM in os.read(ending, 64):
                self._show_stacks()
                self.dump()
                _end_by_signal()
            ordered = self._ordered()
            if ordered > answered:
                answered = ordered
                self.dump(again=True)

    def _ordered(self) -> int:
        """When the last order was given; 0 = never."""
        try:
            return os.stat(self._path("kit/order")).st_mtime_ns
        except OSError:
            return 0

    def _show_stacks(self) -> None:
        """All threads, unless the drill has asked for them before."""
        if self._stacks is not None and not self._has_stacks():
            faulthandler.dump_traceback(file=self._stacks, all_threads=True)

    def _has_stacks(self) -> bool:
        with open(self._path(f"stacks/stack_{self._rank}.txt")) as file:
            return "most recent call first" in file.read()

    def _write(self, name: str, row: dict[str, int]) -> None:
        target = self._path(name)
        with open(target + ".part", "w") as file:
            json.dump(row, file)
        os.replace(target + ".part", target)

    def _path(self, name: str) -> str:
        return os.path.join(str(self._folder), name)


def _ancestors() -> list[int]:
    """Process ids of parent, grandparent and so on."""
    found = [os.getppid()]
    with contextlib.suppress(OSError):
        while found[-1] > 1:
            with open(f"/proc/{found[-1]}/stat") as file:
                found.append(int(file.read().rpartition(")")[2].split()[1]))
    return found


def _keep(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
    """Stand in for the default action, which `_end_by_signal` brings back.

    The program gets no further meanwhile: the dump shows where it was told to end.
    """
    time.sleep(_LAST_S)


def _forget() -> None:
    """A forked child (a worker of a loader) is no rank: it ends by the signal as ever."""
    if signal.getsignal(signal.SIGTERM) is _keep:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_by_signal() -> None:
    """End as the default action does."""
    _set_action(signal.SIGTERM, _DEFAULT)
    os.kill(os.getpid(), signal.SIGTERM)


def _set_action(number: int, action: int) -> None:
    """As `signal.signal` does, which only the main thread may call."""
    ctypes.CDLL(None).signal(int(number), ctypes.c_void_p(action))
