"""Keeps the run folder's books: events, the present standing, its history, and what was lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from unhang.live.messages.actions import Note
from unhang.live.messages.job_snapshot import SCHEMA, JobSnapshot
from unhang.live.messages.losses import Loss
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.events_log import append, event_of
from unhang.live.run_folder.history import History
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import replace
from unhang.live.run_folder.writer import RunWriter
from unhang.model.codec import document
from unhang.model.measurements import SCHEMA as MEASURED
from unhang.model.measurements import RunMeasurements

_SHARE = 0.01
"""Of one core that views and writing them may take; a large job's are written less often."""

_LEAST_PAUSE_S = 0.9
_MOST_LOST = 200


class RunJournal:
    """The books of one run.

    Args:
        folder: the run folder.
        run_clock: dates what is written; None = the clock of a run that begins now.
        tell: takes each loss at once, to keep it where our own end does not reach.
        known: losses of an agent before us, which nobody needs to be told again.
        clock: seconds that never jump.
    """

    def __init__(
        self,
        folder: RunFolder,
        run_clock: RunClock | None = None,
        tell: Callable[[Loss], None] = lambda _: None,
        known: Iterable[Loss] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._run_clock = RunClock.begin() if run_clock is None else run_clock
        self._tell = tell
        self._clock = clock
        self._writer = RunWriter(self.lose)
        self._history: History | None = None
        self._next_view_s = 0.0
        self._lost: dict[Loss, None] = dict.fromkeys(known)

    @property
    def lost(self) -> tuple[Loss, ...]:
        """What could not be seen or done so far, each thing once."""
        return tuple(self._lost)

    @property
    def own_losses(self) -> tuple[Loss, ...]:
        """Those of the agent: ranks tell their own in their beats."""
        return tuple(loss for loss in self.lost if not loss.ranks)

    @property
    def now(self) -> str:
        """The time, as the books write it."""
        return self._run_clock.stamp()

    @property
    def wants_view(self) -> bool:
        """Whether the view that is written has become old."""
        return self._clock() >= self._next_view_s

    def note(self, note: Note, **more: object) -> None:
        """Write a line of events, with `more` fields."""
        event = event_of(note, self.now) | more
        self._writer.write("events", partial(append, self._folder.events, event))

    def lose(self, loss: Loss) -> None:
        """Remember what could not be seen or done, each thing once."""
        if loss not in self._lost and len(self._lost) < _MOST_LOST:
            self._lost[loss] = None
            self._tell(loss)

    def show(self, view: Callable[[], JobSnapshot | None]) -> None:
        """Take a view, write it, and keep it."""
        began_s = self._clock()
        standing = view()
        self._next_view_s = self._clock() + _LEAST_PAUSE_S
        if standing is not None:
            took_s = self._clock() - began_s
            self._writer.write_view("standing", partial(self._write_view, standing, took_s))

    def keep_measured(self, measured: RunMeasurements) -> None:
        """Write what was measured, as a whole."""
        text = document(MEASURED, measured)
        self._writer.write_view("measured", partial(replace, self._folder.measured, text))

    def when_written(self, task: Callable[[], None]) -> None:
        """Do a task, in another thread, once all that was noted so far is on the disk."""
        self._writer.write("books", task)

    def close(self, wait_s: float = 5.0) -> None:
        """Write what waits, and no more."""
        self._writer.write("history", self._close_history)
        self._writer.finish(wait_s)

    def _write_view(self, standing: JobSnapshot, took_s: float) -> None:
        began = self._clock()
        text = document(SCHEMA, standing)
        replace(self._folder.standing, text)
        if self._history is None:
            self._history = History(self._folder.history)
        self._history.add(standing, text)
        cost_s = took_s + self._clock() - began
        self._next_view_s = max(self._next_view_s, self._clock() + cost_s / _SHARE)

    def _close_history(self) -> None:
        if self._history is not None:
            self._history.close()
