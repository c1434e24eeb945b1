"""Does the agent's writing in a thread of its own: a disk that hangs must not stop the judge."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from unhang.live.messages.losses import Loss

_MOST_QUEUED = 1000

_MOST_VIEWS = 3
"""Views of the whole job that wait; a newer one makes an older one worthless."""


class RunWriter:
    """Writes in the order of what is asked.

    Args:
        lose: told what could not be written.
    """

    def __init__(self, lose: Callable[[Loss], None]) -> None:
        self._lose = lose
        self._queue: queue.Queue[tuple[str, Callable[[], object]] | None] = queue.Queue(
            _MOST_QUEUED
        )
        self._thread = threading.Thread(target=self._work, name="run-writer", daemon=True)
        self._thread.start()

    def write(self, what: str, task: Callable[[], object]) -> None:
        """Do a task later; never waits.

        Args:
            what: is written; the code of its loss is `<what>_unwritten`.
            task: writes it; what it raises is lost with it.
        """
        try:
            self._queue.put_nowait((what, task))
        except queue.Full:
            self._lose(Loss.of("disk_silent"))

    def write_view(self, what: str, task: Callable[[], object]) -> None:
        """The same for what will be written anew soon: dropped while the disk is behind."""
        if self._queue.qsize() < _MOST_VIEWS:
            self.write(what, task)

    def finish(self, wait_s: float) -> None:
        """Wait so long for what is still to be written."""
        deadline = time.monotonic() + wait_s
        try:
            self._queue.put(None, timeout=wait_s)
        except queue.Full:
            return
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            what, task = item
            try:
                task()
            except OSError as error:
                self._lose(Loss.of(f"{what}_unwritten", why=error.strerror or str(error)))
            except Exception as error:  # whatever it was, the next one is written
                self._lose(Loss.failed(f"{what}_unwritten", error))
