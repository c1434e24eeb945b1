"""Reads artifacts by several workers; the largest first, so that all end together."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing.sharedctypes import Synchronized

from unhang.engine.budget import Budget, BudgetSpent, begin_worker
from unhang.engine.reading import SPENT, WANTED, Read, read_artifact
from unhang.engine.shards import Engine, fastest_context, map_shards
from unhang.model.provenance import Problem
from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length
from unhang.sources.plan import plan

_BATCH_BYTES = 16 << 20
_BATCH_FILES = 500

_counter: Synchronized[int] | None = None
"""Bytes that the processes of this machine have read; None in a worker elsewhere."""

Batch = list[tuple[int, Artifact]]
"""Artifacts with their places."""


def read_by_workers(
    artifacts: Sequence[Artifact],
    engine: Engine,
    progress: Callable[[int], None],
    budget: Budget | None = None,
    lengths: dict[str, Length] | None = None,
) -> list[Read]:
    """Read `artifacts`, each of which can be opened again, and return what they told, in order.

    A file that kills every process that it is given to becomes a problem. Workers elsewhere have
    clocks and memory of their own: what they get, not what they use, is bounded by `budget`. What
    they found is kept here, and bounds what is given to any of them.
    """
    counter: Synchronized[int] = fastest_context().Value(ctypes.c_longlong, 0)
    near = engine.ray is None
    theirs = budget.for_workers(engine.processes) if budget is not None and near else None
    read = partial(_read_batch, len(artifacts), theirs)
    reads: dict[int, Read] = {}
    told = 0

    def tell() -> None:
        nonlocal told
        progress(counter.value - told)
        told = counter.value

    spent: list[str] = []
    work = _affordable(batches(artifacts), budget, spent)
    start = partial(_remember, counter)
    for batch, found in map_shards(read, work, engine, files=paths, start=start, tick=tell):
        lost = found is None
        done = [unread(artifact) for _, artifact in batch] if found is None else found[0]
        if found is not None and lengths is not None:
            lengths.update(found[1])
        reads.update(zip((index for index, _ in batch), done, strict=True))
        if not near and not lost:
            progress(sum(artifact.size_bytes or 0 for _, artifact in batch))
    tell()
    missing = "".join(spent[:1])
    return [
        reads.get(index, ([], [Problem(artifact=artifact.name, component=SPENT, message=missing)]))
        for index, artifact in enumerate(artifacts)
    ]


def _affordable(work: Iterable[Batch], budget: Budget | None, spent: list[str]) -> Iterator[Batch]:
    for batch in work:
        try:
            if budget is not None:
                budget.check()
        except BudgetSpent as error:
            spent.append(str(error))
            return
        yield batch


def paths(batch: Batch) -> list[str]:
    """The local files of a batch."""
    return [artifact.path for _, artifact in batch if artifact.path is not None]


def unread(artifact: Artifact) -> Read:
    """What is told of a file whose reader was killed."""
    message = (
        "the process that read it ended before it was done: killed for its memory, or not able to"
        " start (a script that asks for processes needs `if __name__ == '__main__':`)"
    )
    return [], [Problem(artifact=artifact.name, component="reader", message=message)]


def batches(artifacts: Sequence[Artifact]) -> Iterator[Batch]:
    """The largest file first; small files together."""
    batch: Batch = []
    size = 0
    for index in sorted(range(len(artifacts)), key=lambda i: -(artifacts[i].size_bytes or 0)):
        batch.append((index, artifacts[index]))
        size += artifacts[index].size_bytes or 0
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _remember(counter: Synchronized[int]) -> None:
    global _counter  # noqa: PLW0603 (each process has its own)
    _counter = counter
    plan(WANTED, plain=False).expect_much()
    begin_worker()


def _read_batch(
    files: int, budget: Budget | None, batch: Batch
) -> tuple[list[Read], dict[str, Length]]:
    lengths: dict[str, Length] = {}
    return [read_artifact(each, _count, files, budget, lengths) for _, each in batch], lengths


def _count(size: int) -> None:
    if _counter is not None:
        with _counter.get_lock():
            _counter.value += size
