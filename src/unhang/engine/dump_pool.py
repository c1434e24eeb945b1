"""Reads Flight Recorder dumps in several processes; their tables of calls become one."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from unhang.engine.pool import batches, fastest_context, unread
from unhang.engine.reading import Read
from unhang.parsers.recorder import DumpReader
from unhang.parsers.recorder.merging import Tables
from unhang.sources.artifact import Artifact


def read_dumps_in_processes(
    artifacts: Sequence[Artifact],
    processes: int,
    reader: DumpReader,
    progress: Callable[[int], None],
) -> list[Read]:
    """Read dumps, each of which must be a local file, and return what they told, in order.

    Args:
        artifacts: the dumps.
        processes: how many read at once.
        reader: has the table that the results refer to.
        progress: is told bytes that have been read.
    """
    reads: dict[int, Read] = {}
    with ProcessPoolExecutor(processes, mp_context=fastest_context()) as executor:
        pending = {
            executor.submit(_read_batch, [artifacts[index] for index in batch]): batch
            for batch in batches(artifacts)
        }
        for future in as_completed(pending):
            batch = pending.pop(future)
            try:
                found = reader.adopt(*future.result())
            except BrokenProcessPool:
                found = [unread(artifacts[index]) for index in batch]
            reads.update(zip(batch, found, strict=True))
            progress(sum(artifacts[index].size_bytes or 0 for index in batch))
    return [reads[index] for index in range(len(artifacts))]


def _read_batch(artifacts: Sequence[Artifact]) -> tuple[list[Read], Tables]:
    gc.disable()  # for good: this process does nothing else, and dumps hold no cycles
    reader = DumpReader()
    reads = [reader.read(artifact) for artifact in artifacts]
    return reads, reader.tables
