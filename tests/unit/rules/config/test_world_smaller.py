"""A call of the whole job over another number of ranks than the job announced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import DEFAULT_PG, by, incident, source, timeout
from unhang.model.events import CollectiveTimeout, Event, GroupRef, WorldSeen
from unhang.model.ids import Rank
from unhang.rules.config.world_smaller import check

LAYER = 218_112_000


def _gather(group: GroupRef | None = DEFAULT_PG, ranks: int = 4) -> CollectiveTimeout:
    event = timeout(0, op="_ALLGATHER_BASE", group=group, global_rank=0)
    return replace(event, numel_in=LAYER // ranks, numel_out=LAYER)


def _announced(world: int) -> WorldSeen:
    return WorldSeen(source=source(), origin=by(0), world_size=world, rank=Rank(0))


def test_half_of_the_announced_ranks() -> None:
    (finding,) = check(incident(_announced(8), _gather()))
    assert finding.urgent
    assert finding.cause is None
    assert not finding.culprits
    assert (finding.claim.values["size"], finding.claim.values["world"]) == (4, 8)


@pytest.mark.parametrize(
    "events",
    [
        [_announced(4), _gather()],
        [_announced(8), _announced(4), _gather()],
        [_announced(8), _gather(group=GroupRef(guid="5", description="mesh_shard"))],
        [_announced(8), _gather(group=None)],
        [_announced(8), timeout(0, op="ALLREDUCE", group=DEFAULT_PG, global_rank=0)],
        [_gather()],
    ],
    ids=["agrees", "an engine's world", "sub-group", "group unknown", "no gather", "no world"],
)
def test_what_may_rightly_be_smaller(events: list[Event]) -> None:
    assert list(check(incident(*events))) == []
