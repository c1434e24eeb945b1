"""NCCL and Gloo time-outs that make up the job; and those that leave somebody out."""

from __future__ import annotations

import pytest

from support.builders import by, incident, source, timeout
from unhang.model.events import Event, GlooFault, GlooProblem, WorldSeen
from unhang.model.finding import Strength
from unhang.model.provenance import Origin
from unhang.rules.desync.backends_differ import check

WORLD = WorldSeen(source=source(1), origin=Origin(), world_size=4)


def gloo(line: int, *, rank: int | None = None, limit_ms: int = 600_000) -> GlooFault:
    return GlooFault(
        source=source(line, text=f"gloo {line}"),
        origin=by(rank),
        problem=GlooProblem.RECV_TIMED_OUT,
        timeout_ms=limit_ms,
    )


def test_the_rank_that_is_alone_in_nccl_is_elsewhere() -> None:
    found = incident(WORLD, gloo(2), gloo(3), gloo(4), timeout(0, global_rank=0, line=9))
    (finding,) = check(found)
    assert finding.culprits == {0}
    assert finding.strength is Strength.SUPPORTS


def test_equal_sides_name_nobody() -> None:
    both = [timeout(rank, global_rank=rank, line=9 + rank) for rank in (0, 1)]
    (finding,) = check(incident(WORLD, gloo(2), gloo(3), *both))
    assert finding.culprits == frozenset()


@pytest.mark.parametrize(
    "events",
    [
        (gloo(2), gloo(3), gloo(4)),
        (WORLD, gloo(2), gloo(3)),
        (WORLD, gloo(2), gloo(3), gloo(4, rank=0)),
        (WORLD, gloo(2), gloo(3), gloo(4, limit_ms=1_800_000)),
    ],
    ids=["size unknown", "one is left", "one rank in both", "other limit"],
)
def test_it_stays_quiet(events: tuple[Event, ...]) -> None:
    assert list(check(incident(*events, timeout(0, global_rank=0, line=9)))) == []
