"""How far the reading is, on the standard error of who waits at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

_PATIENCE_S = 1.0
_EVERY_S = 0.2
_CLEAR = "\r\x1b[K"


@contextmanager
def passing_line(text: str) -> Iterator[None]:
    """Show a line on a terminal until something is done that takes some seconds."""
    shown = sys.stderr.isatty()
    if shown:
        sys.stderr.write(text)
        sys.stderr.flush()
    try:
        yield
    finally:
        if shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


class ReadingProgress:
    """A line that is rewritten while much is read, and gone when it is done.

    Nothing is printed where standard error is no terminal, nor in the first second.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        words: Callable[[int, int], str] = lambda done, total: (
            f"reading {done / total:4.0%} of {total / 2**30:.1f} GiB"
        ),
    ) -> None:
        """Show on `stream` (standard error) what `words` says of what is done, of how much."""
        self._words = words
        self._stream = sys.stderr if stream is None else stream
        self._next = time.monotonic() + _PATIENCE_S
        self._shown = False

    def __enter__(self) -> ReadingProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown:
            self._print(_CLEAR)

    def __call__(self, done: int, total: int) -> None:
        """Tell what is done, of how much."""
        now = time.monotonic()
        if now < self._next or not self._stream.isatty():
            return
        self._next = now + _EVERY_S
        self._shown = True
        self._print(_CLEAR + (self._words(done, total) if total else "reading"))

    def _print(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
