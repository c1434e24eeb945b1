"""The life of the probe in one training process: its threads, its end, and forks.

Three threads at most, all daemons: one beats, one looks at the dead-man's switch and touches no
file (storage that hangs must not keep it from its task), one serves an order while it lasts.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from typing import Any

from . import board, course, dump, environment, fitting, restarts, variables
from .beats import C10D, Beats
from .freeze import Freeze
from .guard import TimeoutGuard
from .limits import GroupLimits
from .orders import OrderReader, Watched

_PAUSE_S = 0.05
_SHORTEST_S = 0.01
_BEATS_PER_LOOK = 10
"""The limits of groups are looked at in each tenth beat: asking is a third of a beat's cost."""
_FAREWELL_S = 3.0
_REST = 20
"""A beat that costs much (a thousand groups) comes more rarely: at most a twentieth of a core."""


class Probe:
    """What watches this process.

    Args:
        settings: what the agent said.

    Raises:
        OSError: the run folder is not there or not ours to write in.
    """

    def __init__(self, settings: environment.Settings, limits: GroupLimits) -> None:
        self._settings, self._limits = settings, limits
        self._owner = f"{settings.host}-{os.getpid()}"
        self._pid = os.getpid()
        run = settings.run
        self._board = board.Board(os.path.join(run, "boards", f"{self._owner}.board"))
        self._orders = OrderReader(os.path.join(run, "orders", f"{settings.host}.json"))
        self._agent = Watched(os.path.join(run, "agents", f"{settings.host}.json"))
        self._beats = Beats(settings, limits)
        self._freeze = self._watch_for_freezes()
        self._guard = TimeoutGuard(settings, limits, self._beats.lose, self._dump_at_the_end)
        self._pinning = threading.Lock()
        self._beating = threading.Thread(target=self._beat_on, name="unhang-probe", daemon=True)
        self._serving: threading.Thread | None = None
        self._ended = threading.Event()
        self._paused = False
        self._until_limits = 0

    def start(self) -> None:
        """Begin to beat."""
        atexit.register(self._end)
        course.COURSE.show_last(self._board.note_call)
        self._beating.start()
        self._guard.start()

    def _watch_for_freezes(self) -> Freeze | None:
        try:
            return Freeze(os.path.join(self._settings.run, "stacks", f"{self._owner}.txt"))
        except OSError as error:
            self._beats.lose("freeze", error)
            return None

    def pause(self) -> None:
        """Wait a moment for a beat to end: a child inherits no lock of torch's in our name."""
        self._paused = self.is_of_this_process() and self._pinning.acquire(timeout=_PAUSE_S)

    def go_on(self) -> None:
        """The fork is done."""
        if self._paused:
            self._paused = False
            self._pinning.release()

    def is_of_this_process(self) -> bool:
        """False in a child that was forked off."""
        return os.getpid() == self._pid

    def _beat_on(self) -> None:
        while not self._ended.is_set():
            begun, cpu = time.monotonic(), time.thread_time()
            try:
                self._beat(begun)
            except Exception as error:
                self._beats.lose("beat", f"{type(error).__name__}: {error}")
            left = self._settings.interval_s - (time.monotonic() - begun)
            self._ended.wait(max(left, (time.thread_time() - cpu) * _REST, _SHORTEST_S))

    def _beat(self, now_s: float) -> None:
        if self._freeze is not None:
            self._freeze.beat()
        heart = self._agent.read()
        self._guard.switch.saw(heart.get("beat"), judges=heart.get("judge") is True)
        self._obey()
        self._until_limits -= 1
        if C10D in sys.modules and self._until_limits <= 0:
            self._govern()
        self._pin(now_s)

    def _govern(self) -> None:
        # Groups are born with the right limit; this is for a program that changes one behind us.
        self._until_limits = _BEATS_PER_LOOK
        try:
            self._limits.apply(sys.modules[C10D])
        except Exception as error:
            self._beats.lose("timeouts", f"{type(error).__name__}: {error}")
        for name in self._limits.unchangeable:
            self._beats.lose("timeout_kept", name, part=f"timeout of {name}")

    def _obey(self) -> None:
        timeouts = self._orders.timeouts()
        if timeouts is not None:
            ordered = (timeouts[0], timeouts[1] or self._settings.limit_ms)
            if ordered != (self._limits.mode, self._limits.limit_ms):
                self._limits.mode, self._limits.limit_ms = ordered
                self._until_limits = 0
        order = self._orders.new_dump()
        if order is not None:
            self._serving = threading.Thread(
                target=self._serve, args=order, name="unhang-dump", daemon=True
            )
            self._serving.start()

    def _serve(self, number: int, folder: str) -> None:
        self._dump(folder)
        self._beats.dumped = number
        self._pin(time.monotonic())

    def _dump_at_the_end(self) -> None:
        self._dump(os.path.join(self._settings.run, "dumps", "deadman"))

    def _dump(self, folder: str) -> None:
        rank = self._beats.rank()
        label = self._owner if rank is None else str(rank)
        try:
            for why in dump.dump(folder, label=label, owner=self._owner):
                self._beats.lose("dump", why)
        except Exception as error:
            self._beats.lose("dump", f"{type(error).__name__}: {error}")

    def _pin(self, now_s: float) -> None:
        # The board has one writer at a time. Nobody waits for it for long: not the exit.
        if not self._pinning.acquire(timeout=1.0):
            return
        try:
            for beat in fitting.smaller(self._beats.compose(now_s)):
                if self._board.pin(beat, now_s):
                    return
        finally:
            self._pinning.release()

    def _end(self) -> None:
        if not self.is_of_this_process():
            return
        self._ended.set()
        try:
            # The interpreter kills threads that come back to it after its end, and one that comes
            # back from torch's C++ takes the process with it (std::terminate).
            self._guard.end()
            for thread in (self._beating, self._serving):
                if thread is not None:
                    thread.join(_FAREWELL_S)
            self._pin(time.monotonic())
        except Exception:
            return  # the process ends; its last beat stands


_lives: list[Probe] = []
"""The one of this process, or the parent's in a child that was forked off."""

_shared: dict[str, Any] = {}


def begin() -> None:
    """Bring the probe to life in this process, once; do nothing where that cannot be."""
    if _lives and _lives[0].is_of_this_process():
        return
    try:
        probe = Probe(environment.settings(os.environ), _limits())
        probe.start()
    except (OSError, RuntimeError):
        # No run folder to write in, or no more threads. Nobody would see that the judge is gone:
        # the program keeps its own limits.
        if _limits().mode == "judge":
            _limits().mode = "keep"
        return
    if not _lives:
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child
        )
    _lives[:] = [probe]


def watch_process_groups(c10d: Any) -> None:
    """Govern the groups of this process, and come to life when it makes one."""
    if environment.RESTARTS in os.environ:
        restarts.watch_rank(c10d)
    _limits().wrap(c10d, on_birth=begin)
    course.COURSE.listen(c10d)
    variables.set_for(sys.modules["torch"].__version__, os.environ)


def _limits() -> GroupLimits:
    if "limits" not in _shared:
        settings = environment.settings(os.environ)
        _shared["limits"] = GroupLimits(settings.mode, settings.limit_ms)
    limits: GroupLimits = _shared["limits"]
    return limits


def _before_fork() -> None:
    _lives[0].pause()


def _after_fork() -> None:
    _lives[0].go_on()


def _in_child() -> None:
    course.COURSE.show_last(None)  # the board is the parent's
