"""The size of the job by the sizes of a gather, where no line tells it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.builders import DEFAULT_PG, incident, source, status, timeout
from unhang.model.events import CollectiveTimeout, Event, WorldSeen
from unhang.model.provenance import Origin


def gather(rank: int, inside: int = 64, outside: int = 256, **fields: Any) -> CollectiveTimeout:
    waits = timeout(rank, op="_ALLGATHER_BASE", global_rank=rank, line=2 + rank, **fields)
    return replace(waits, numel_in=inside, numel_out=outside)


@pytest.mark.parametrize(
    ("events", "size"),
    [
        ([gather(0), gather(1), gather(3)], 4),
        ([gather(0), status(0, 7, 7, 6, group=DEFAULT_PG)], 4),
        ([gather(0)], None),
        ([gather(0), gather(1)], None),
        ([gather(0), gather(5), gather(6)], None),
        ([gather(0), gather(1), gather(2, outside=512)], None),
        ([gather(0), gather(1), gather(2, outside=255)], None),
        ([gather(0), gather(1), timeout(2, global_rank=2, line=9)], None),
        ([WorldSeen(source=source(1), origin=Origin(), world_size=8), gather(0), gather(1)], 8),
    ],
    ids=[
        "all but one",
        "world group",
        "one of some group",
        "two of four",
        "numbers beyond",
        "two sizes",
        "no ratio",
        "no gather",
        "told",
    ],
)
def test_the_sizes_of_a_gather(events: list[Event], size: int | None) -> None:
    assert incident(*events).world.size == size
