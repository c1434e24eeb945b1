"""Rank 0 alone in a gather after the end."""

from __future__ import annotations

from support.builders import ended, incident, timeout
from support.crashes import closing, raised, work
from unhang.model.causes import Cause
from unhang.model.events import CollectiveTimeout
from unhang.model.finding import Strength
from unhang.rules.desync.lone_waiter import check

DONE = work(9, total=9, line=2)
ABORTED = ended(0, signal=6, line=20)


def waits(rank: int = 0, op: str = "_ALLGATHER_BASE", numel: int = 1024) -> CollectiveTimeout:
    return timeout(rank, 2778, op, numel=numel, line=10 + rank)


def test_rank_0_gathers_what_the_others_no_longer_bring() -> None:
    (finding,) = check(incident(DONE, waits(), ABORTED))
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.SUPPORTS)
    assert finding.culprits == {0}


def test_without_the_launcher_the_others_may_only_be_silent() -> None:
    (finding,) = check(incident(DONE, waits()))
    assert finding.strength is Strength.HINTS


def test_near_misses() -> None:
    under_way = work(5, total=9, line=2)
    assert list(check(incident(under_way, waits(), ABORTED))) == []
    assert list(check(incident(DONE, waits(), waits(1), ABORTED))) == []
    assert list(check(incident(DONE, waits(1), ABORTED))) == []
    assert list(check(incident(DONE, waits(op="ALLREDUCE"), ABORTED))) == []
    assert list(check(incident(DONE, waits(numel=1), ABORTED))) == []
    assert list(check(incident(DONE, waits(), closing(77, line=19), ABORTED))) == []
    assert list(check(incident(DONE, raised(3, line=3), waits(), ABORTED))) == []
