"""Reads artifacts in several processes; the largest first, so that all end together."""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from multiprocessing.sharedctypes import Synchronized

from unhang.engine.budget import Budget
from unhang.engine.reading import Read, read_artifact
from unhang.model.provenance import Problem
from unhang.sources.artifact import Artifact

_BATCH_BYTES = 16 << 20
_BATCH_FILES = 500
_TELL_EVERY_S = 0.1

_counter: Synchronized[int] | None = None


def read_in_processes(
    artifacts: Sequence[Artifact],
    processes: int,
    progress: Callable[[int], None],
    budget: Budget | None = None,
) -> list[Read]:
    """Read `artifacts`, each of which must be a local file, and return what they told, in order.

    When a process is killed, what was not read yet becomes problems.
    """
    context = fastest_context()
    counter: Synchronized[int] = context.Value(ctypes.c_longlong, 0)
    reads: dict[int, Read] = {}
    executor = ProcessPoolExecutor(
        processes, mp_context=context, initializer=_remember, initargs=(counter,)
    )
    with executor:
        pending = {
            executor.submit(
                _read_batch, [artifacts[i] for i in batch], len(artifacts), budget
            ): batch
            for batch in batches(artifacts)
        }
        told = 0
        while pending:
            done, _ = wait(pending, timeout=_TELL_EVERY_S, return_when=FIRST_COMPLETED)
            for future in done:
                batch = pending.pop(future)
                reads.update(zip(batch, _result(future, batch, artifacts), strict=True))
            if counter.value > told:
                progress(counter.value - told)
                told = counter.value
    return [reads[index] for index in range(len(artifacts))]


def _result(
    future: Future[list[Read]], batch: Sequence[int], artifacts: Sequence[Artifact]
) -> list[Read]:
    try:
        return future.result()
    except BrokenProcessPool:
        return [unread(artifacts[index]) for index in batch]


def unread(artifact: Artifact) -> Read:
    """What is told of a file whose reader was killed."""
    message = (
        "the process that read it ended before it was done: killed for its memory, or not able to"
        " start (a script that asks for processes needs `if __name__ == '__main__':`)"
    )
    return [], [Problem(artifact=artifact.name, component="reader", message=message)]


def batches(artifacts: Sequence[Artifact]) -> Iterator[list[int]]:
    """Indexes, the largest file first; small files together."""
    batch: list[int] = []
    size = 0
    for index in sorted(range(len(artifacts)), key=lambda i: -(artifacts[i].size_bytes or 0)):
        batch.append(index)
        size += artifacts[index].size_bytes or 0
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def fastest_context() -> BaseContext:
    """Forking is fastest, and safe as long as there are no threads."""
    forks = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if forks else "spawn")


def _remember(counter: Synchronized[int]) -> None:
    global _counter  # noqa: PLW0603 (each process has its own)
    _counter = counter


def _read_batch(artifacts: Sequence[Artifact], files: int, budget: Budget | None) -> list[Read]:
    return [read_artifact(artifact, _count, files, budget) for artifact in artifacts]


def _count(size: int) -> None:
    assert _counter is not None
    with _counter.get_lock():
        _counter.value += size
