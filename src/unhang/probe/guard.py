"""The thread behind the dead-man's switch: old limits back, and an end to what outlasts them.

It touches no file before the end: storage that hangs must not keep it from its task. An operation
keeps the limit that it was issued with, so giving a group its old limit back does not reach what is
already in flight; the guard ends the process then as torch's watchdog would have.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from . import groups, stack
from .beats import C10D, NATIVE
from .deadman import InFlight, Switch
from .recorder import STATUS, Recorder
from .unchanged_since import UnchangedSince

if TYPE_CHECKING:
    from collections.abc import Callable

    from .environment import Settings
    from .limits import GroupLimits

_GRACE_S = 2.0
_FAREWELL_S = 3.0
_DUMP_S = 10.0


class Overdue(NamedTuple):
    """Something that has been waiting for longer than the program allows."""

    what: str
    for_s: float
    limit_s: float


class TimeoutGuard:
    """Looks about once a second, in judge mode only.

    Args:
        settings: how long the judge may be silent.
        limits: what to give back.
        lose: where to note what could not be done.
        dump: writes what there is to know before the process ends.
    """

    def __init__(
        self,
        settings: Settings,
        limits: GroupLimits,
        lose: Callable[..., None],
        dump: Callable[[], None],
    ) -> None:
        self.switch = Switch(settings.deadman_s)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unhang-deadman", daemon=True)
        self._limits, self._lose, self._dump = limits, lose, dump
        self._tick_s = min(1.0, settings.interval_s)
        self._recorder, self._flights = Recorder(), InFlight()
        self._place, self._unrecorded = UnchangedSince(), UnchangedSince()
        self._held: dict[str, int] | None = None
        self._gone_s = 0.0

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Look no more; no look is under way when this returns, unless torch does not answer."""
        self._ended.set()
        self._thread.join(_FAREWELL_S)

    def _run(self) -> None:
        while not self._ended.wait(self._tick_s):
            if self._limits.mode != "judge":
                continue
            try:
                overdue = self._look(time.monotonic())
            except Exception as error:
                self._lose("deadman", f"{type(error).__name__}: {error}")
                continue
            if overdue is not None and not self._ended.is_set():
                self._end_process(overdue)

    def _look(self, now_s: float) -> Overdue | None:
        native = sys.modules.get(NATIVE)
        flying = self._flights.see(self._recorder.progress(native, rests=True), now_s)
        places = stack.main_thread()
        place_since_s = self._place.see(stack.own_place(places), now_s)
        unrecorded_since_s = self._unrecorded.see(_unrecorded(native, places), now_s)
        gone = self.switch.tripped(now_s)
        if gone != self._limits.judge_gone:
            self._limits.judge_gone, self._gone_s = gone, now_s
            self._lose("judge_silent" if gone else "judge_back", part="judge")
            if C10D in sys.modules:
                self._limits.apply(sys.modules[C10D])
        if not gone:
            self._held = None
            return None
        if self._held is None:
            # What is issued from now on has the program's limit and is torch's to end.
            self._held = {name: completed for name, (completed, _) in flying.items()}
        return (
            self._late_to_meet(now_s)
            or self._late_operation(flying, place_since_s, now_s)
            or self._late_unrecorded(places, max(place_since_s, unrecorded_since_s), now_s)
        )

    def _late_to_meet(self, now_s: float) -> Overdue | None:
        waiting = self._limits.waiting
        if waiting is None:
            return None
        for_s, limit_s = now_s - waiting.since_s, waiting.asked_ms / 1000
        return self._overdue(waiting.what, for_s, limit_s, now_s)

    def _overdue(self, what: str, for_s: float, limit_s: float, now_s: float) -> Overdue | None:
        """What has waited for its limit since the judge fell silent, which may come back.

        It had the judge's leave to wait until then: a long save is not ended for a judge that was
        away for a moment.
        """
        counted_s = min(for_s, now_s - self._gone_s)
        return Overdue(what, for_s, limit_s) if counted_s > limit_s + _GRACE_S else None

    def _late_operation(
        self, flying: dict[str, tuple[int, float]], place_since_s: float, now_s: float
    ) -> Overdue | None:
        for name, (completed, since_s) in flying.items():
            asked_ms = self._limits.asked.get(name)
            if asked_ms is None or (self._held or {}).get(name) != completed:
                continue
            # An operation that failed need not count as completed. gloo raises in the main thread,
            # which the program may survive: it is at another place then. NCCL's nobody survives.
            begun_s = since_s if self._has_watchdog() else max(since_s, place_since_s)
            for_s, limit_s = now_s - begun_s, asked_ms / 1000
            what = f"collective {completed + 1} of group {name}"
            if (late := self._overdue(what, for_s, limit_s, now_s)) is not None:
                return late
        return None

    def _late_unrecorded(
        self, places: list[stack.MainThreadFrame], since_s: float, now_s: float
    ) -> Overdue | None:
        asked_ms = max(self._limits.asked.values(), default=None)
        if asked_ms is None or not _in_collective(places):
            return None
        for_s, limit_s = now_s - since_s, asked_ms / 1000
        return self._overdue(places[0].function, for_s, limit_s, now_s)

    def _has_watchdog(self) -> bool:
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        return cuda is not None and bool(cuda.is_initialized())

    def _end_process(self, overdue: Overdue) -> None:
        writing = threading.Thread(target=self._dump, name="unhang-dump", daemon=True)
        writing.start()
        writing.join(_DUMP_S)  # storage that hangs does not keep a dead job alive
        rank = os.environ.get("RANK", "?")
        os.write(
            2,
            f"[unhang] rank {rank}: {overdue.what} has been waiting for {overdue.for_s:.0f} s, "
            f"longer than the {overdue.limit_s:.0f} s that the program allows, and the judge that "
            "held this limit back is gone. The process ends as it would have without unhang. "
            "Stacks and the Flight Recorder are in the run folder under dumps/deadman.\n".encode(),
        )
        os.abort()


def _unrecorded(native: object, places: list[stack.MainThreadFrame]) -> object:
    """What changes while gloo moves under a torch that records only NCCL's operations."""
    if C10D not in sys.modules or hasattr(native, STATUS[1]) or not _in_collective(places):
        return object()  # equal to nothing: it has not stood still
    issued = [(n, groups.enqueued(group)) for group, n in groups.registered(sys.modules[C10D])]
    return object() if any(count is None for _, count in issued) else issued


def _in_collective(places: list[stack.MainThreadFrame]) -> bool:
    return bool(places) and f"{os.sep}torch{os.sep}distributed{os.sep}" in places[0].file
