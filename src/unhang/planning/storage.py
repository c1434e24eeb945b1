"""How fast this host writes to a folder, and copies in its memory."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import NamedTemporaryFile
from zlib import crc32

from unhang.errors import UsageError

_CHUNK = 4 << 20
_LEAST, _MOST = 64 << 20, 1 << 30
_ENOUGH_S = 2.0
_COPIES = 8
_COPIER = """
import os, sys, time
size, copies = map(int, sys.argv[1:])
data = bytearray(os.urandom(size))
print(flush=True)
sys.stdin.read()
begin = time.perf_counter()
kept = [bytes(data) for _ in range(copies)]
print(time.perf_counter() - begin)
"""
_MOST_WRITERS = 16


def measure_write(
    folder: Path,
    *,
    least: int = _LEAST,
    enough_s: float = _ENOUGH_S,
    synced: int | None = None,
    data: bytes | None = None,
) -> int:
    """Bytes per second that one process writes and brings to the medium (fsync).

    Each chunk is summed up as `torch.save` does for its archive, and comes from more memory than
    a processor's cache holds, as a model does: on fast storage both cost more than the writing.
    Writes a file of 64 MiB to 1 GiB, for two seconds if that is enough, and removes it.

    Args:
        folder: where to write.
        least: bytes that are written even where it takes longer.
        enough_s: seconds after which no more is written.
        synced: bytes after which each time the medium is waited for, so that slow storage does not
            take in more than it can write in time; None = at the end.
        data: 64 MiB that are written over and over; None = random ones, because storage that
            compresses must not look faster than it is.

    Raises:
        UsageError: the folder cannot be written to; the message says why.
    """
    view = memoryview(os.urandom(_LEAST) if data is None else data)
    written = checksum = 0
    try:
        with NamedTemporaryFile(dir=folder, prefix=".unhang-plan-") as file:
            begin = time.perf_counter()
            while written < _MOST:
                begun = written % _LEAST
                chunk = view[begun : begun + _CHUNK]
                checksum = crc32(chunk, checksum)
                file.write(chunk)
                written += _CHUNK
                if synced is not None and written % synced == 0:
                    file.flush()
                    os.fsync(file.fileno())
                if written >= least and time.perf_counter() - begin > enough_s:
                    break
            file.flush()
            os.fsync(file.fileno())
            return int(written / (time.perf_counter() - begin))
    except OSError as error:
        raise UsageError(
            f"{folder}: {error.strerror} after {written} bytes; name a folder that can be written"
        ) from error


def measure_together(
    folder: Path, writers: int, measure: Callable[..., int] = measure_write
) -> int:
    """Bytes per second of several writers at once; threads, since none holds Python's lock."""
    writers, data = min(writers, _MOST_WRITERS), os.urandom(_LEAST)
    with ThreadPoolExecutor(writers) as pool:
        return sum(pool.map(lambda _: measure(folder, data=data), range(writers)))


def measure_copy(processes: int) -> int:
    """Bytes per second of each of several processes that copy, at once, into new memory.

    That is what an asynchronous save makes training wait for. New memory costs a page fault for
    each page, which on virtual machines takes longer than the copy; threads of one process would
    wait for each other in those faults, which ranks do not.
    """
    command = [sys.executable, "-I", "-S", "-c", _COPIER, str(_LEAST), str(_COPIES)]
    start, starter = os.pipe()
    with ExitStack() as stack:
        copiers = [
            stack.enter_context(Popen(command, stdin=start, stdout=PIPE))  # noqa: S603
            for _ in range(min(processes, _MOST_WRITERS))
        ]
        os.close(start)
        told = [copier.stdout for copier in copiers if copier.stdout is not None]
        for each in told:
            each.readline()  # it has its data, and waits for the end of its input
        os.close(starter)
        taken = [float(each.readline()) for each in told]
    return int(_COPIES * _LEAST * len(taken) / sum(taken))
