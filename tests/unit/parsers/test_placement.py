"""Which ranks are on which host, in any words."""

from __future__ import annotations

import pytest

from support.feeding import feed
from unhang.model.events import WorldSeen
from unhang.parsers.placement import PlacementParser


def _places(*texts: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for event in feed(PlacementParser, *texts):
        assert isinstance(event, WorldSeen)
        assert event.listed
        assert event.host is not None
        assert event.rank is not None
        found.setdefault(event.host, []).append(event.rank)
    return found


@pytest.mark.parametrize(
    "texts",
    [
        ["rank map: ada=0-1 bob=2-3"],
        ["ranks: ada: 0-1, bob: 2-3"],
        ["[spawn] rank->host: 0 ada, 1 ada, 2 bob, 3 bob"],
        ["node-ada1: start 2 procs, ranks 0-1", "node-bob2: start 2 procs, ranks 2-3"],
        ["ranks 0-1 on ada", "ranks 2-3 on bob"],
        ["rank 0/4 on ada", "rank 1/4 on ada", "rank 2/4 on bob", "rank 3/4 on bob"],
        ["hosts ada1 bob2, 2 per host, rank = host*2+gpu"],
        ["hosts: ada1 bob2, 2 GPU each, world 4"],
        ["hosts dgx-r1..r2 rank=2*(n-1)+gpu"],
        ["Running on nid00[1-2], 2 GCD each (world 4)"],
        ["ada slots=2", "bob slots=2", "end of the list"],
        ["$ cat hostfile_ranks", "ada 0 1", "bob 2 3"],
    ],
)
def test_all_ranks_are_given_out(texts: list[str]) -> None:
    assert list(_places(*texts).values()) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "texts",
    [
        ["rank map: ada=0-1 bob=1-2"],
        ["rank map: ada=0-1 bob=4-5"],
        ["rank 0/4 on ada", "rank 1/4 on ada"],
        ["rank 3: loss=0 acc=1"],
        ["rank=0 local_rank=1"],
        ["ranks 0-1 on ada", "ranks 0-1 on bob"],
        ["ada slots=2"],
        ["$ cat hostfile", "epoch 0 1", "step 2 3"],
        ["we saw it on hosts ada1 bob2 and on other hosts, 2 times"],
    ],
)
def test_what_is_no_table_of_all_ranks_tells_nothing(texts: list[str]) -> None:
    assert _places(*texts) == {}
