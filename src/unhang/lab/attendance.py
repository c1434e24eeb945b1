"""Attends to a job that fails: takes its stacks and dumps while it hangs, and sees it end."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field

from unhang.lab.drill import Drill
from unhang.lab.faults.declared import FOLDER_VARIABLE, STACK_SIGNAL
from unhang.lab.folder import DrillFolder
from unhang.lab.job import Console, Launcher, end_processes, is_alive, send
from unhang.lab.launching import LauncherStart
from unhang.lab.live_verdicts import Level, is_captured, words

_LEFT_BEHIND_S = 6.0
"""Seconds that the launcher gets to end the other ranks once one has died after the hang."""

_ANSWER_S = 1.0
"""Seconds that the ranks get to write stacks and dumps before they are ended."""

_CAPTURED_WITHIN_S = 20.0
"""Seconds that a watched job goes on at most after its hang was named, until that is captured."""

_LATE_S = 25.0
"""Seconds after its fault that a watched job goes on whose late rank may come: whoever loses
patience calls it a hang meanwhile."""

_UNTIL_FAULT_S = 90.0
"""Seconds that a job may take to come to its fault, on a machine that is busy."""

_MOST_TAKEN = 2
"""Times that stacks and dumps are taken: who gives up later stands elsewhere."""

_TICK_S = 0.1


@dataclass(slots=True)
class Attendance:
    """Waits for the fault, takes the stacks and dumps of the hang, and sees the job end.

    Attributes:
        watched: it runs under `unhang run`.
        stopped: it did not end by itself in time.
    """

    drill: Drill
    folder: DrillFolder
    planned: tuple[LauncherStart, ...]
    within_s: float
    watched: bool
    stopped: bool = False
    _acted: bool = False
    _since: float = 0.0
    _end: float = 0.0
    _counts_from: float | None = None
    _taken: int = 0
    _lost: float | None = None
    _launchers: list[Launcher] = field(default_factory=list)

    def run(self) -> int:
        """Run the job to its end; the exit code of the first launcher that failed, or 0."""
        per_node = self.drill.world // len(self.planned)
        console = Console(self.folder.logs, nodes=len(self.planned), per_node=per_node)
        self._end = time.monotonic() + _UNTIL_FAULT_S + self.within_s
        try:
            self._launchers = [
                Launcher(
                    (*start.node, *start.command),
                    environment=start.environment,
                    folder=start.folder,
                    logs=console,
                    node=node,
                )
                for node, start in enumerate(self.planned)
            ]
            while not self._is_over(time.monotonic()):
                time.sleep(_TICK_S)
            if not all(each.ended() for each in self._launchers):
                self._take()
                time.sleep(_ANSWER_S)
                self.stopped = True
                for launcher in self._launchers:
                    send(launcher.process.pid, signal.SIGTERM)
                self._await_end()
                self._end_ranks()
        finally:
            end_processes(FOLDER_VARIABLE, str(self.folder.root))
            codes = [each.close() for each in self._launchers]
            console.close()
        return next((code for code in codes if code != 0), 0)

    def _is_over(self, now: float) -> bool:
        """Whether the job has ended, or is to be ended; one look at it."""
        if all(each.ended() for each in self._launchers):
            return True
        self._look(now)
        if self.folder.acts():
            self._end = min(self._end, now + self.within_s)
        return now >= self._end or (self.watched and self._is_told(now))

    def _look(self, now: float) -> None:
        """One look at the job."""
        if self.drill.finishes:
            return
        if not self._acted:
            self._acted = bool(self.folder.acts()) and self.folder.all_joined()
            self._since = now
        elif self._lost is not None:
            if now - self._lost >= _LEFT_BEHIND_S:
                self._end_ranks()
        elif any(not is_alive(pid) for pid in self.folder.ranks().values()):
            self._lost = now
        elif self.watched:
            return  # whoever watches takes its own, and sees that ours wake a rank
        elif self._taken < _MOST_TAKEN and now - self._since >= self.drill.settle_s:
            self._take()
            self._since = now

    def _is_told(self, now: float) -> bool:
        """Whether the judge that watches has said what it has to say, and kept the evidence."""
        if self.drill.finishes:
            return False
        if self._counts_from is None:
            late = self.drill.may_end and self.folder.acts()
            hung = any(word.level is Level.HANG for word in words(self.folder.run))
            self._counts_from = now if late or hung else None
            return False
        passed_s = now - self._counts_from
        if self.drill.may_end:
            return passed_s >= _LATE_S
        return passed_s >= _CAPTURED_WITHIN_S or is_captured(self.folder.run)

    def _take(self) -> None:
        """Order dumps, and stacks of all threads: both show the same moment.

        It is done again while nobody gives up: two stacks tell whether a rank gets on.
        """
        self._taken += 1
        self.folder.order.touch()
        for pid in self.folder.ranks().values():
            if is_alive(pid):
                send(pid, STACK_SIGNAL)

    def _end_ranks(self) -> None:
        """End ranks that their launcher does not reach: stopped ones, and held locks.

        First as launchers do, by SIGTERM: a bare SIGKILL would look like a kill for memory.
        """
        for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGKILL):
            for pid in self.folder.ranks().values():
                send(pid, number)
            if number is signal.SIGCONT:
                time.sleep(2 * _ANSWER_S)
        self._await_end()

    def _await_end(self) -> None:
        """Give the launchers some time to end."""
        end = time.monotonic() + _LEFT_BEHIND_S
        while time.monotonic() < end and not all(each.ended() for each in self._launchers):
            time.sleep(_TICK_S)
