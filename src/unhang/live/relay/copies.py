"""Keeps time-stamped copies of what the job prints, bounded, without ever making it wait.

A thread writes them: a disk that hangs or is full costs the copies, never the job. Each line gets
the time at which we read its first byte, `2026-11-21T07:00:00.123456+00:00 `; the rest is as it
was.

A stream is kept in segments: `stdout.1.log`, the beginning, is never dropped; after it only the
newest two stay (`stdout.2.log`, and `stdout.log`, which grows).
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

from unhang.live.messages.losses import Loss
from unhang.live.run_folder.clock import RunClock

SEGMENT_BYTES = 32 << 20
"""Of one file; a stream takes at most three."""

_MOST_QUEUED = 256
"""Chunks (of at most 64 KiB) that wait for the disk."""

_PAUSE_S = 10.0
"""After an error of the disk; what comes meanwhile is not kept."""


class Copies:
    """Copies of all streams of one host.

    Args:
        folder: where they go; it exists.
        clock: dates the lines.
        segment_bytes: the bound of one file.
    """

    def __init__(self, folder: Path, clock: RunClock, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._clock = clock
        self._segment_bytes = segment_bytes
        self._queue: queue.Queue[tuple[str, bytes, float] | threading.Event | None] = queue.Queue(
            _MOST_QUEUED
        )
        self._files: dict[str, _Segments] = {}
        self._skipped: dict[str, int] = {}
        self._thread = threading.Thread(target=self._write_all, name="copies", daemon=True)
        self._thread.start()

    def add(self, name: str, data: bytes) -> None:
        """Keep a piece of a stream; never waits."""
        try:
            self._queue.put_nowait((name, data, self._clock.now_s()))
        except queue.Full:
            self._skipped[name] = self._skipped.get(name, 0) + len(data)

    def flush(self, wait_s: float = 1.0) -> None:
        """Wait until all that was added is in the files, but no longer than that."""
        written = threading.Event()
        with contextlib.suppress(queue.Full):
            self._queue.put(written, timeout=wait_s)
            written.wait(wait_s)

    def close(self, wait_s: float = 5.0) -> tuple[Loss, ...]:
        """Write what waits, for so long, and say what was lost."""
        deadline = time.monotonic() + wait_s
        try:
            self._queue.put(None, timeout=wait_s)
        except queue.Full:
            return (*self._losses(), Loss.of("copies_unfinished"))
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            return (*self._losses(), Loss.of("copies_unfinished"))
        return self._losses()

    def _write_all(self) -> None:
        while (piece := self._queue.get()) is not None:
            if isinstance(piece, threading.Event):
                piece.set()
                continue
            name, data, at_s = piece
            if name not in self._files:
                self._files[name] = _Segments(self._folder, name, self._segment_bytes)
            self._files[name].write(data, at_s)
        for file in self._files.values():
            file.close()

    def _losses(self) -> tuple[Loss, ...]:
        slow = tuple(
            Loss.of("copies_slow", size=size, stream=name) for name, size in self._skipped.items()
        )
        return slow + tuple(loss for file in self._files.values() for loss in file.losses())


class _Segments:
    """The files of one stream."""

    def __init__(self, folder: Path, name: str, most_bytes: int) -> None:
        self._folder = folder
        self._name = name
        self._most_bytes = most_bytes
        self._file: int | None = None
        self._size = 0
        self._rotated = 0
        self._at_line_start = True
        self._paused_until = 0.0
        self._failed_bytes = 0
        self._failure = ""
        self._dropped_bytes = 0

    def write(self, data: bytes, at_s: float) -> None:
        """Append a piece, or count it as lost."""
        if time.monotonic() < self._paused_until:
            self._failed_bytes += len(data)
            return
        try:
            if self._is_full():
                self._rotate()
            self._append(self._stamped(data, at_s))
        except OSError as error:
            self._failure = error.strerror or str(error)
            self._failed_bytes += len(data)
            self._paused_until = time.monotonic() + _PAUSE_S

    def losses(self) -> tuple[Loss, ...]:
        """What is not in the files."""
        found = []
        if self._failed_bytes:
            size, why = self._failed_bytes, self._failure
            found.append(Loss.of("copies_failed", size=size, stream=self._name, why=why))
        if self._dropped_bytes:
            size = self._dropped_bytes
            found.append(Loss.of("copies_bounded", size=size, stream=self._name))
        return tuple(found)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _stamped(self, data: bytes, at_s: float) -> bytes:
        stamp = datetime.fromtimestamp(at_s, timezone.utc).isoformat(timespec="microseconds")
        mark = stamp.encode() + b" "
        ended = data.endswith(b"\n")
        body = data[:-1] if ended else data
        text = body.replace(b"\n", b"\n" + mark) + (b"\n" if ended else b"")
        text = mark + text if self._at_line_start else text
        self._at_line_start = ended
        return text

    def _append(self, data: bytes) -> None:
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(self._path("log"), flags, 0o600)
            self._size = os.fstat(self._file).st_size
        rest = memoryview(data)
        while rest:
            count = os.write(self._file, rest)
            self._size += count
            rest = rest[count:]

    def _is_full(self) -> bool:
        """Between two lines if possible; a progress bar may never end its line."""
        bound = self._most_bytes if self._at_line_start else 2 * self._most_bytes
        return self._file is not None and self._size >= bound

    def _rotate(self) -> None:
        self.close()
        self._at_line_start = True
        self._rotated += 1
        kept = self._path("1.log" if self._rotated == 1 else "2.log")
        if kept.exists():
            self._dropped_bytes += kept.stat().st_size
        self._path("log").rename(kept)

    def _path(self, ending: str) -> Path:
        return self._folder / f"{self._name}.{ending}"
