"""Works completed without a peer, and the root that rightly runs ahead."""

from __future__ import annotations

from support.builders import DEFAULT_PG, incident, timeout
from support.steps import world
from unhang.model.causes import Cause
from unhang.model.events import CollectiveTimeout
from unhang.model.finding import Strength
from unhang.rules.desync.passed_alone import check


def waits(rank: int, seq: int, op: str = "ALLREDUCE") -> CollectiveTimeout:
    return timeout(rank, seq, op, group=DEFAULT_PG, global_rank=rank)


def test_others_completed_works_that_need_the_rank_behind() -> None:
    found = incident(waits(0, 959), *(waits(r, 963) for r in (1, 2, 4, 5)))
    (finding,) = check(found)
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.SUPPORTS)
    assert finding.culprits == {0}


def test_one_rank_ahead_of_many_is_the_odd_one() -> None:
    found = incident(waits(3, 963), *(waits(r, 959) for r in (0, 1, 2)))
    (finding,) = check(found)
    assert finding.culprits == {3}


def test_the_root_of_a_broadcast_runs_ahead() -> None:
    found = incident(
        waits(1, 339, "BROADCAST"), waits(2, 339, "BROADCAST"), waits(0, 341, "_ALLGATHER_BASE")
    )
    assert list(check(found)) == []


def test_rank_0_alone_ahead_may_be_the_root_of_what_lies_between() -> None:
    found = incident(world(4), waits(1, 339), waits(2, 339), waits(0, 342))
    assert list(check(found)) == []


def test_a_difference_of_one_is_no_contradiction_while_ranks_are_unseen() -> None:
    assert list(check(incident(world(4), waits(0, 959), waits(1, 960)))) == []


def test_numbers_of_different_groups_are_not_compared() -> None:
    found = incident(timeout(0, 96, line=1), timeout(0, 117, line=2), timeout(7, 64, line=3))
    assert list(check(found)) == []
