"""Runs a program with a limit on its time and on what it may say; never waits for a stuck one.

A process in state D cannot be killed: it is left behind, and nothing here waits for it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PIECE = 1 << 16
_REAP_S = 0.5
_OTHER_PLACES = ("/usr/sbin", "/sbin", "/usr/bin", "/usr/local/bin", "/opt/slurm/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a program said.

    Attributes:
        code: its exit code; None when it was ended here.
        cut: it said more than was kept.
    """

    code: int | None
    out: bytes
    err: str
    timed_out: bool = False
    cut: bool = False


def find_program(name: str) -> str | None:
    """The path of a program: searched for as usual, beside our interpreter, among root's tools."""
    beside = str(Path(sys.executable).parent)
    places = os.pathsep.join((os.environ.get("PATH", ""), beside, *_OTHER_PLACES))
    return shutil.which(name, path=places)


def run(
    words: Sequence[str],
    *,
    limit_s: float,
    limit_bytes: int,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Run a program and keep the first `limit_bytes` of what it prints.

    Args:
        words: the program and its arguments.
        limit_s: seconds after which it and its children are killed.
        limit_bytes: more than this is read and dropped.
        environment: variables besides ours; messages are asked for in English.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(  # noqa: S603 (no shell; the words are ours)
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C", "LANGUAGE": "C", **(environment or {})},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    listener = _Listener((process.stdout, process.stderr), limit_bytes)
    try:
        ended = listener.listen(time.monotonic() + limit_s)
        if ended:
            ended = _reaped(process, limit_s)
    finally:
        if process.poll() is None:
            kill(process)
        listener.close()
    out, err = listener.texts
    return Ran(
        code=process.returncode if ended else None,
        out=bytes(out),
        err=err.decode(errors="replace").strip(),
        timed_out=not ended,
        cut=listener.cut,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and all that it started; one that the kernel holds is left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if not _reaped(process, _REAP_S):
        threading.Thread(target=process.wait, name="unhang-reaper", daemon=True).start()


def _reaped(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    try:
        process.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return False
    return True


class _Listener:
    """Reads several pipes until all have ended or the time is up."""

    def __init__(self, pipes: Sequence[IO[bytes]], limit_bytes: int) -> None:
        self._pipes = pipes
        self._limit_bytes = limit_bytes
        self.texts = [bytearray() for _ in pipes]
        self.cut = False

    def listen(self, until: float) -> bool:
        """Whether all pipes ended in time."""
        with selectors.DefaultSelector() as selector:
            for pipe, text in zip(self._pipes, self.texts, strict=True):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, text)
            while selector.get_map():
                left = until - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:
                    return False
                for key, _ in ready:
                    piece = os.read(key.fd, _PIECE)
                    self._take(key.data, piece)
                    if not piece:
                        selector.unregister(key.fileobj)
        return True

    def _take(self, text: bytearray, piece: bytes) -> None:
        room = self._limit_bytes - len(text)
        text.extend(piece[:room])
        self.cut = self.cut or len(piece) > room

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()
