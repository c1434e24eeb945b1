"""Who printed a fact, where its line does not say it outright."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import by, incident, source
from support.steps import dump
from unhang.model.events import DumpReason, WorldSeen
from unhang.model.ids import NO_RANKS, Rank
from unhang.rules.shared import speakers


def world(size: int | None, *on_each: int) -> list[WorldSeen]:
    return [
        WorldSeen(source=source(n), origin=by(), world_size=size, local_world_size=each)
        for n, each in enumerate(on_each, start=1)
    ]


@pytest.mark.parametrize(
    ("told", "nodes", "ranks"),
    [
        (world(8, 4), 1, {4, 5, 6, 7}),
        (world(None, 4), 1, {4, 5, 6, 7}),
        (world(8, 4), 2, NO_RANKS),  # of the other node nobody is known
        (world(6, 4), 1, NO_RANKS),  # nodes are not all alike
        (world(8, 4, 2), 1, NO_RANKS),
        ([], 1, NO_RANKS),
    ],
)
def test_a_node_has_as_many_ranks_as_each_node(
    told: list[WorldSeen], nodes: int, ranks: set[int]
) -> None:
    known = frozenset({Rank(5), Rank(7)})
    assert speakers.whole_nodes(incident(*told), known, nodes) == ranks


def test_a_member_of_the_group_of_all_ranks_is_its_global_rank() -> None:
    signal = replace(dump(5, DumpReason.OBSERVED), origin=by())
    assert speakers.of_dump(signal) == 5
    assert speakers.of_dump(replace(signal, group=None)) is None
    assert speakers.of_dump(replace(signal, group_rank=None)) is None
