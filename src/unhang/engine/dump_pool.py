"""Reads Flight Recorder dumps by several workers; their tables of calls become one."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from unhang.engine.pool import Batch, batches, paths, unread
from unhang.engine.reading import Read
from unhang.engine.shards import Engine, map_shards
from unhang.parsers.recorder import DumpReader
from unhang.parsers.recorder.merging import Tables
from unhang.sources.artifact import Artifact


def read_dumps_by_workers(
    artifacts: Sequence[Artifact],
    engine: Engine,
    reader: DumpReader,
    progress: Callable[[int], None],
) -> list[Read]:
    """Read dumps, each of which can be opened again, and return what they told, in order.

    Args:
        artifacts: the dumps.
        engine: who reads them.
        reader: has the table that the results refer to.
        progress: is told bytes that have been read.
    """
    reads: dict[int, Read] = {}
    for batch, told in map_shards(_read_batch, batches(artifacts), engine, files=paths):
        found = [unread(each) for _, each in batch] if told is None else reader.adopt(*told)
        reads.update(zip((index for index, _ in batch), found, strict=True))
        progress(sum(artifact.size_bytes or 0 for _, artifact in batch))
    return [reads[index] for index in range(len(artifacts))]


def _read_batch(batch: Batch) -> tuple[list[Read], Tables]:
    gc.disable()  # dumps hold no cycles
    try:
        reader = DumpReader()
        return [reader.read(artifact) for _, artifact in batch], reader.tables
    finally:
        gc.enable()
