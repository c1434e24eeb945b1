"""Carries one stream of the job to ours, unchanged and never ahead of our reader."""

from __future__ import annotations

import os
import select

from unhang.live.relay.copies import Copies
from unhang.live.relay.streams import Stream, is_plain_file

_READ_BYTES = 1 << 16


class Channel:
    """One stream on its way.

    What our reader does not take yet is not read from the job either: a paused pager pauses the
    job, and a reader that has left ends it (`| head`), as both would without us.

    Args:
        stream: where from and where to.
        copies: what keeps a copy.
    """

    def __init__(self, stream: Stream, copies: Copies) -> None:
        self.stream = stream
        self.is_open = True
        self.at_line_start = True
        self._copies = copies
        self._pending = memoryview(b"")
        # A pipe or terminal that can be written takes this much without waiting.
        self._piece = _READ_BYTES if is_plain_file(stream.sink) else select.PIPE_BUF

    @property
    def wanted(self) -> tuple[int, int] | None:
        """Descriptor and event for which to wait; None when there is nothing to do."""
        if self._pending:
            return self.stream.sink, select.POLLOUT
        return (self.stream.source, select.POLLIN) if self.is_open else None

    @property
    def is_full(self) -> bool:
        """Our reader does not take what we have for it."""
        return bool(self._pending)

    def move(self) -> None:
        """Read or write once; what was waited for is there."""
        if self._pending:
            self._write()
        else:
            self._read()

    def drop(self) -> None:
        """Read no more; the job learns it at its next write."""
        self._pending = memoryview(b"")
        if self.is_open:
            self.is_open = False
            os.close(self.stream.source)

    def _read(self) -> None:
        try:
            data = os.read(self.stream.source, _READ_BYTES)
        except OSError:  # EIO: the last writer of a pseudo-terminal has closed it
            data = b""
        if not data:
            self.drop()
            return
        self._copies.add(self.stream.name, data)
        self._pending = memoryview(data)
        self.at_line_start = data.endswith(b"\n")

    def _write(self) -> None:
        try:
            count = os.write(self.stream.sink, self._pending[: self._piece])
        except BlockingIOError:  # somebody made our output non-blocking
            return
        except OSError:  # the reader has left, or the disk is full
            self.drop()
            return
        self._pending = self._pending[count:]
