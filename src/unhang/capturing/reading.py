"""Reads files that may hang their reader: each read has a limit, and a stuck one costs only itself.

The reads are done by a child process (`reading_child.py`). Where one stands still, the child is
left to the kernel and another goes on with the files after it. Within `kept_readers` a child that
has answered everything is there for the next to ask: to start one costs more than most reads.
"""

from __future__ import annotations

import marshal
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from unhang.capturing.bounded import kill

_CHILD = str(Path(__file__).with_name("reading_child.py"))
_PIECE = 1 << 16
_STALL_S = 2.0
_LENGTH = 8
"""Bytes of the length of a frame."""
_START_S = 3.0
"""What the start of an interpreter may take on a node that is busy."""

_Head = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One thing to read.

    Attributes:
        path: the file or folder.
        action: see `reading_child`.
        limit: bytes, or entries of a folder.
    """

    path: str
    action: str = "head"
    limit: int = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """What a request gave.

    Attributes:
        data: the bytes; empty where nothing was read.
        told: what `list`, `links` and `space` gave.
        error: what the system said, or None.
        denied: it is not ours to read.
        gone: there is no such file.
        stalled: the read did not end.
        cut: there was more.
        size_bytes: of the whole file, as the system has it (0 in `/proc`).
        modified_s: seconds since the epoch.
    """

    request: ReadRequest
    data: bytes = b""
    told: object = None
    error: str | None = None
    denied: bool = False
    gone: bool = False
    stalled: bool = False
    cut: bool = False
    size_bytes: int = 0
    modified_s: float = 0.0

    @property
    def text(self) -> str:
        """The data as text."""
        return self.data.decode(errors="replace")

    @property
    def names(self) -> list[str]:
        """What `list` gave."""
        return cast("list[str]", self.told or [])

    @property
    def links(self) -> dict[str, str]:
        """What `links` gave: name to target."""
        return cast("dict[str, str]", self.told or {})

    @property
    def space(self) -> dict[str, int]:
        """What `space` gave, by the names of `statvfs`."""
        return cast("dict[str, int]", self.told or {})


def read(
    requests: Sequence[ReadRequest], *, limit_s: float, stall_s: float = _STALL_S
) -> Iterator[ReadAnswer]:
    """Yield the answer to each request, in order, as they come.

    Args:
        requests: what to read.
        limit_s: for all together; what is left then is answered as stalled.
        stall_s: for each.
    """
    until = time.monotonic() + limit_s
    done = 0
    while done < len(requests):
        if time.monotonic() >= until:
            for request in requests[done:]:
                yield ReadAnswer(request=request, error="no time was left", stalled=True)
            return
        child = _KEPT.take() or _Child()
        try:
            for answer in child.answers(requests[done:], until, stall_s):
                done += 1
                yield answer
        finally:
            if not _KEPT.put(child):
                child.end()


@contextmanager
def kept_readers() -> Iterator[None]:
    """Keep children for the next to ask, until the last one within this is through."""
    _KEPT.begin()
    try:
        yield
    finally:
        for child in _KEPT.end():
            child.end()


class _Kept:
    """Children that have nothing to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._idle: list[_Child] = []

    def begin(self) -> None:
        with self._lock:
            self._users += 1

    def end(self) -> list[_Child]:
        """Those that nobody will ask any more."""
        with self._lock:
            self._users -= 1
            if self._users:
                return []
            idle, self._idle = self._idle, []
            return idle

    def take(self) -> _Child | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def put(self, child: _Child) -> bool:
        """Whether it may be asked again: it has answered everything, and somebody may ask."""
        with self._lock:
            if self._users == 0 or not child.is_idle:
                return False
            self._idle.append(child)
            return True


_KEPT = _Kept()


class _Child:
    """A child that reads, and what it has said so far."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (no shell; the program is ours)
            (sys.executable, "-I", "-S", _CHILD),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._heard = bytearray()
        self._ended = False
        self.is_idle = False

    def _ask(self, requests: Sequence[ReadRequest]) -> None:
        """The child reads all that it is asked before it begins."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(marshal.dumps([(r.action, r.path, r.limit) for r in requests]))
            stdin.flush()
        except BrokenPipeError:
            self._ended = True

    def answers(
        self, requests: Sequence[ReadRequest], until: float, stall_s: float
    ) -> Iterator[ReadAnswer]:
        """Yield answers until all are there, or one is lost: that is the last one."""
        self.is_idle = False
        self._ask(requests)
        waits = min(until, time.monotonic() + stall_s + _START_S)
        for request in requests:
            frame = self._frame(waits)
            while frame is not None and "begins" in frame[0]:
                waits = min(until, time.monotonic() + stall_s)
                frame = self._frame(waits)
            if frame is None:
                yield self._lost(request)
                return
            waits = min(until, time.monotonic() + stall_s)
            yield _answer(request, *frame)
        self.is_idle = True

    def _lost(self, request: ReadRequest) -> ReadAnswer:
        """The child stands still, or it died."""
        if self._ended:
            return ReadAnswer(request=request, error="its reader ended")
        return ReadAnswer(request=request, error="the read did not end", stalled=True)

    def _frame(self, until: float) -> tuple[_Head, bytes] | None:
        """The next frame; None when it does not come in time."""
        while (frame := self._heard_frame()) is None:
            if not self._listen(until):
                return None
        return frame

    def _heard_frame(self) -> tuple[_Head, bytes] | None:
        end = _LENGTH + int.from_bytes(self._heard[:_LENGTH], "little")
        if len(self._heard) < max(end, _LENGTH + 1):
            return None
        frame = marshal.loads(self._heard[_LENGTH:end])  # noqa: S302 (our own child wrote it)
        del self._heard[:end]
        return cast("tuple[_Head, bytes]", frame)

    def _listen(self, until: float) -> bool:
        """Hear more; False when there is no more, or not in time."""
        left = until - time.monotonic()
        stdout = self._process.stdout
        assert stdout is not None
        if left <= 0 or self._ended:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if not selector.select(left):
                return False
        piece = os.read(stdout.fileno(), _PIECE)
        self._ended = not piece
        self._heard.extend(piece)
        return bool(piece)

    def end(self) -> None:
        """Let go of the child; one that is stuck in the kernel is left behind."""
        if self._process.poll() is None:
            kill(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def _answer(request: ReadRequest, head: _Head, data: bytes) -> ReadAnswer:
    error, size, modified = head.get("error"), head.get("size"), head.get("modified")
    return ReadAnswer(
        request=request,
        data=data,
        told=head.get("told"),
        error=None if error is None else str(error),
        denied=head.get("denied") is True,
        gone=head.get("gone") is True,
        cut=head.get("cut") is True,
        size_bytes=size if isinstance(size, int) else 0,
        modified_s=modified if isinstance(modified, float) else 0.0,
    )
