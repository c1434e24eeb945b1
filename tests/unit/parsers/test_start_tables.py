"""Tables of processes that launchers print line by line."""

from __future__ import annotations

import pytest

from support.feeding import feed
from unhang.model.events import WorldSeen
from unhang.parsers.start_tables import StartTablesParser


def told(*lines: str) -> list[tuple[int | None, int | None, int | None, str | None]]:
    events = feed(StartTablesParser, *lines)
    return [
        (e.rank, e.local_rank, e.pid, e.bus_id)
        for e in events
        if isinstance(e, WorldSeen) and e.listed
    ]


def test_whatever_the_words_are() -> None:
    assert told("R0 pid 6611", "R1 pid 6612") == [(None, 0, 6611, None), (None, 1, 6612, None)]
    spawned = ("spawn r=0 pid=41235 gpu=0", "spawn r=1 pid=41236 gpu=1")
    assert told(*spawned)[1] == (None, 1, 41236, None)
    assert told("actor 8: pid=71", "actor 9: pid=72") == [(8, None, 71, None), (9, None, 72, None)]


def test_addresses_of_gpus() -> None:
    rows = ("worker 0 -> 0000:01:00.0", "worker 1 -> 0000:C1:00.0")
    assert told(*rows)[1] == (None, 1, None, "0000:C1:00.0")


@pytest.mark.parametrize(
    "lines",
    [
        ("R0 pid 6611",),
        ("R0 pid 6611", "R2 pid 6612"),
        ("R0 pid 6611", "R1 pid 6611"),
        ("R1 pid 6611", "R0 pid 6612"),
        ("GPU 0: pid 71", "GPU 1: pid 72"),
        ("nvidia 0000:83:00.0: irq 33", "nvidia 0000:84:00.0: irq 34"),
        ("try 33 pid 71", "try 34 pid 72"),
        ("worker 0 pid 71 exited", "worker 1 pid 72 exited"),
    ],
)
def test_what_is_no_table(lines: tuple[str, ...]) -> None:
    assert told(*lines) == []
