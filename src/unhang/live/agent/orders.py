"""What the agent tells the probes of its host: orders, and that it is still there."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from unhang.live.agent import kernel
from unhang.live.messages.actions import SetTimeouts
from unhang.live.messages.request import KEEP
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import write_json

_DUMP_WAIT_S = 4.0
"""A probe that does not answer in this time is frozen; what `faulthandler` wrote must do."""
_STACKS_WAIT_S = 2.0
"""So long the stacks of recorded calls are waited for; they decide less often than the calls."""
_SERVES_S = 60.0
"""A probe that is not through with them by then is frozen for another reason."""


@dataclass(slots=True)
class _DumpOrder:
    """Dumps that are awaited."""

    number: int
    folder: Path
    expected: frozenset[int]
    stacks_s: float
    deadline_s: float
    served_s: float


class OrderWriter:
    """The writer of `orders/<host>.json` and of the heartbeat `agents/<host>.json`.

    Args:
        near: folder that the probes of this host read.
        dumps: run folder that dumps go to.
        host: label of this host.
    """

    def __init__(self, near: RunFolder, dumps: RunFolder, host: str) -> None:
        self._near = near
        self._dumps = dumps
        self._host = host
        self._sequence = int(time.time())  # above that of an agent that died before us
        self._beat = 0
        self._timeouts = SetTimeouts(mode=KEEP)
        self._dump: _DumpOrder | None = None
        self._served: list[_DumpOrder] = []

    def beat(self, *, judged: bool) -> None:
        """Show that we are there, and whether a judge is.

        Raises:
            OSError: it cannot be written; the probes will put the old limits back.
        """
        self._beat += 1
        data = {"beat": self._beat, "judge": judged, "wall": time.time()}
        write_json(self._near.agent(self._host), data)

    def set_timeouts(self, wish: SetTimeouts) -> None:
        """Let the probes govern the limits.

        Raises:
            OSError: the order cannot be written.
        """
        self._timeouts = wish
        self._write()

    def order_dump(self, number: int, pids: Collection[int], now: float) -> None:
        """Ask for dumps of these processes.

        Raises:
            OSError: the order cannot be written.
        """
        folder = self._dumps.dump(number)
        folder.mkdir(parents=True, exist_ok=True)
        times = now + _STACKS_WAIT_S, now + _DUMP_WAIT_S, now + _SERVES_S
        self._dump = _DumpOrder(number, folder, frozenset(pids), *times)
        self._served = [*self._served[-1:], self._dump]
        self._write()

    def take_ready(self, now: float) -> int | None:
        """Number of the dumps that are all there, or for which we have waited long enough; once."""
        order = self._dump
        if order is None:
            return None
        marks = ("done",) if now < order.stacks_s else ("done", "done_brief")
        there = (self._has(order, pid, *marks) or _is_stopped(pid) for pid in order.expected)
        if not all(there) and now < order.deadline_s:
            return None
        self._dump = None
        return order.number

    def serving(self, now: float) -> frozenset[int]:
        """Processes that are at work for a dump, which keeps them from all else."""
        return frozenset(
            pid
            for order in self._served
            if now < order.served_s
            for pid in order.expected
            if self._has(order, pid, "done_brief") and not self._has(order, pid, "done")
        )

    def _has(self, order: _DumpOrder, pid: int, *marks: str) -> bool:
        return any((order.folder / f"{mark}_{self._host}-{pid}").exists() for mark in marks)

    @property
    def awaits(self) -> bool:
        """Whether dumps are on their way."""
        return self._dump is not None

    def _write(self) -> None:
        self._sequence += 1
        dump = self._dump
        order = None if dump is None else {"id": dump.number, "dir": str(dump.folder.absolute())}
        data = {
            "seq": self._sequence,
            "dump": order,
            "timeouts": {"mode": self._timeouts.mode, "limit_ms": self._timeouts.limit_ms},
        }
        write_json(self._near.orders(self._host), data)


def _is_stopped(pid: int) -> bool:
    """Whether it can answer nothing until somebody sets it going again."""
    stat = kernel.read_stat(pid)
    return stat is not None and stat.state == "T"
