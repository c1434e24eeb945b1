"""Keeps the run folder's books: events, the present standing, its history, and what was lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from unhang.live.books.events_log import append, event_of
from unhang.live.books.folder import RunFolder
from unhang.live.books.history import History
from unhang.live.books.record import replace
from unhang.live.books.scribe import Scribe
from unhang.live.messages.actions import Note
from unhang.live.messages.codec import document
from unhang.live.messages.standing import SCHEMA, Standing

_SHARE = 0.02
"""Of one core that writing standings may take; a large job's are written less often."""

_LEAST_PAUSE_S = 0.9
_MOST_LOST = 100


class Desk:
    """The books of one run.

    Args:
        folder: the run folder.
        clock: seconds that never jump.
    """

    def __init__(self, folder: RunFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._scribe = Scribe(self.lose)
        self._history: History | None = None
        self._next_view_s = 0.0
        self._lost: dict[str, None] = {}

    @property
    def lost(self) -> tuple[str, ...]:
        """What could not be seen or done so far, each sentence once."""
        return tuple(self._lost)

    @property
    def wants_view(self) -> bool:
        """Whether the view that is written has become old."""
        return self._clock() >= self._next_view_s

    def note(self, note: Note, **more: object) -> None:
        """Write a line of events, with `more` fields."""
        event = event_of(note) | more
        self._scribe.write("the events", partial(append, self._folder.events, event))

    def lose(self, what: str) -> None:
        """Remember what could not be seen or done, each sentence once."""
        if len(self._lost) < _MOST_LOST:
            self._lost[what] = None

    def show(self, standing: Standing) -> None:
        """Write the present view, and keep it."""
        self._next_view_s = self._clock() + _LEAST_PAUSE_S
        self._scribe.write_view("the standing", partial(self._write_view, standing))

    def when_written(self, task: Callable[[], None]) -> None:
        """Do a task, in another thread, once all that was noted so far is on the disk."""
        self._scribe.write("the books", task)

    def close(self, wait_s: float = 5.0) -> None:
        """Write what waits, and no more."""
        self._scribe.write("the history", self._close_history)
        self._scribe.finish(wait_s)

    def _write_view(self, standing: Standing) -> None:
        began = self._clock()
        text = document(SCHEMA, standing)
        replace(self._folder.standing, text)
        if self._history is None:
            self._history = History(self._folder.history)
        self._history.add(standing, text)
        cost_s = self._clock() - began
        self._next_view_s = max(self._next_view_s, self._clock() + cost_s / _SHARE)

    def _close_history(self) -> None:
        if self._history is not None:
            self._history.close()
