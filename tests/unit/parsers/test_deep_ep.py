"""Kernels of DeepEP that gave up on a peer."""

from __future__ import annotations

import pytest

from support.feeding import feed, line
from unhang.model.events import BarrierMissing
from unhang.parsers.deep_ep import DeepEpParser


def told(text: str, rank: int | None = None) -> list[tuple[int | None, set[int], bool]]:
    found = feed(DeepEpParser, text if rank is None else line(text, rank=rank))
    return [(e.reporter, set(e.missing), e.on_host) for e in found if isinstance(e, BarrierMissing)]


def test_a_thread_names_its_peer() -> None:
    text = "DeepEP timeout check failed: rank = 0, thread = 3, value = 1024)"
    assert told(text) == [(0, {3}, True)]
    assert told(text, rank=8) == [(8, {11}, False)]
    assert told("timeout check failed: rank = 2, thread = 3") == [(2, {3}, True)]


@pytest.mark.parametrize("value", [0, -1024])
def test_a_thread_whose_peer_has_come(value: int) -> None:
    assert not told(f"DeepEP timeout check failed: rank = 0, thread = 3, value = {value})")


@pytest.mark.parametrize(
    "text",
    [
        "Warning: DeepEP timeout for barrier, rank 1, dst_rank 9",
        "DeepEP timeout for dispatch receive, rank 1, local_expert_idx 2, src_rank 9",
        "Warning: DeepEP timeout for combine receive, rank 1, local_expert_idx 2, src_rank 9",
    ],
)
def test_ranks_of_several_hosts(text: str) -> None:
    assert told(text, rank=1) == [(1, {9}, False)]


@pytest.mark.parametrize(
    "text",
    [
        "DeepEP timeout for dispatch senders, rank 1, responsible_channel = 2",
        "grep 'timeout check failed: rank = 0, thread = 3' job.log",
        "# DeepEP timeout for barrier, rank 1, dst_rank 9 means that a peer is late",
    ],
)
def test_what_names_no_peer(text: str) -> None:
    assert not told(text)
