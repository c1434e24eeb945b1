"""Two groups that wait for each other."""

from __future__ import annotations

from support.builders import incident, status, timeout
from support.steps import DATA_GROUP, TENSOR_GROUP
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.desync.groups_in_a_circle import check


def test_each_waits_for_a_rank_that_the_other_holds() -> None:
    found = incident(
        timeout(0, 40, group=DATA_GROUP, global_rank=0, line=1),
        timeout(1, 90, group=TENSOR_GROUP, global_rank=1, line=2),
        status(1, 40, 39, 39, group=DATA_GROUP, line=3),
        status(0, 90, 89, 89, group=TENSOR_GROUP, line=4),
    )
    (finding,) = check(found)
    assert (finding.cause, finding.strength) == (Cause.PG_DEADLOCK, Strength.PROVES)


def test_two_stuck_groups_with_common_ranks_are_a_hint() -> None:
    found = incident(
        timeout(0, 40, group=DATA_GROUP, global_rank=0, line=1),
        timeout(0, 90, group=TENSOR_GROUP, global_rank=0, line=2),
    )
    (finding,) = check(found)
    assert finding.strength is Strength.HINTS


def test_groups_without_common_ranks() -> None:
    found = incident(
        timeout(0, 40, group=DATA_GROUP, global_rank=0, line=1),
        timeout(1, 90, group=TENSOR_GROUP, global_rank=1, line=2),
    )
    assert list(check(found)) == []


def test_one_group_is_no_circle() -> None:
    found = incident(
        timeout(0, 40, group=DATA_GROUP, global_rank=0, line=1),
        timeout(1, 41, group=DATA_GROUP, global_rank=1, line=2),
    )
    assert list(check(found)) == []
