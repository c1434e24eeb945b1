"""Ends a job that hangs, so that its launcher can start it again, or that nothing of it is left.

First the ranks: SIGTERM, and SIGCONT for those that are stopped; after a grace SIGKILL. A launcher
that restarts does so now. One that does neither end nor restart is ended itself, with everything
below it.
"""

from __future__ import annotations

import contextlib
import enum
import os
import signal
from collections.abc import Callable, Collection

_GRACE_S = 10.0
"""Between SIGTERM and SIGKILL."""

_LAUNCHER_WAIT_S = 60.0
"""For a launcher whose ranks are gone."""


class _TerminationStep(enum.Enum):
    IDLE = enum.auto()
    RANKS_ASKED = enum.auto()
    RANKS_KILLED = enum.auto()
    TREE_ASKED = enum.auto()


class Termination:
    """The steps, by the clock.

    Args:
        tree: gives all processes of the job, the launcher included.
        ranks: gives the training processes that live.
        tell: takes whom we are about to end, for the agent that would have to go on with it.
    """

    def __init__(
        self,
        tree: Callable[[], Collection[int]],
        ranks: Callable[[], Collection[int]],
        tell: Callable[[frozenset[int]], None] = lambda _: None,
    ) -> None:
        self._tree = tree
        self._ranks = ranks
        self._tell = tell
        self._targets: frozenset[int] = frozenset()
        self._step = _TerminationStep.IDLE
        self._next_s = float("inf")
        self._began = False
        self._restarted = False

    @property
    def is_under_way(self) -> bool:
        """There is a next step."""
        return self._step is not _TerminationStep.IDLE

    @property
    def ended_a_hang(self) -> bool:
        """A hang was ended, and no launcher has started the ranks again."""
        return self._began and not self._restarted

    def _look(self) -> None:
        """Note whether ranks live that were not there when it began."""
        if self._began and set(self._ranks()) - self._targets:
            self._restarted = True

    def begin(self, now: float) -> None:
        """Ask the ranks to end."""
        self._began, self._restarted = True, False
        self._targets = frozenset(self._ranks() or self._tree())
        self._tell(self._targets)
        _send(self._targets, signal.SIGTERM)
        _send(self._targets, signal.SIGCONT)
        self._go(_TerminationStep.RANKS_ASKED, now + _GRACE_S)

    def resume(self, targets: Collection[int], now: float) -> None:
        """Go on where an agent that died has begun; its end of the hang counts as ours."""
        self._began, self._restarted = True, False
        self._targets = frozenset(targets)
        self._go(_TerminationStep.RANKS_ASKED, now + _GRACE_S)

    def advance(self, now: float) -> None:
        """Do what is due."""
        self._look()
        if self._step is _TerminationStep.IDLE or now < self._next_s:
            return
        if self._step is _TerminationStep.RANKS_ASKED:
            _send(self._targets & set(self._tree()), signal.SIGKILL)
            self._go(_TerminationStep.RANKS_KILLED, now + _LAUNCHER_WAIT_S)
        elif self._step is _TerminationStep.RANKS_KILLED:
            self._go(_TerminationStep.IDLE, float("inf"))
            if not self._restarted:
                _send(self._tree(), signal.SIGTERM)
                self._go(_TerminationStep.TREE_ASKED, now + _GRACE_S)
        else:
            _send(self._tree(), signal.SIGKILL)
            self._go(_TerminationStep.IDLE, float("inf"))

    def end(self, pids: Collection[int], now: float) -> None:
        """End processes that nobody should have left behind, and in the end all of the job."""
        _send(pids, signal.SIGTERM)
        _send(pids, signal.SIGCONT)
        self._go(_TerminationStep.TREE_ASKED, now + _GRACE_S)

    def end_all(self, now: float) -> None:
        """End everything that is left of the job."""
        self.end(self._tree(), now)

    def _go(self, step: _TerminationStep, next_s: float) -> None:
        self._step = step
        self._next_s = next_s


def _send(pids: Collection[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
