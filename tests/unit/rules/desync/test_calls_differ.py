"""Different operations at one sequence number, and what only looks like it."""

from __future__ import annotations

from support.builders import DEFAULT_PG, incident, timeout
from support.crashes import raised, stopped
from support.steps import DATA_GROUP, TENSOR_GROUP
from unhang.model.causes import Cause
from unhang.model.events import GroupRef
from unhang.model.finding import Strength
from unhang.rules.desync.calls_differ import check


def test_two_operations_at_one_number() -> None:
    (finding,) = check(
        incident(
            timeout(0, 80, "BROADCAST", group=DEFAULT_PG, global_rank=0),
            timeout(1, 80, "ALLGATHER", group=DEFAULT_PG, global_rank=1),
        )
    )
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.PROVES)
    assert finding.culprits == {0, 1}


def test_the_majority_tells_the_odd_rank() -> None:
    events = [timeout(r, 80, "_ALLGATHER_BASE", global_rank=r) for r in (1, 5, 6)]
    (finding,) = check(incident(*events, timeout(0, 80, "REDUCE", global_rank=0, line=5)))
    assert finding.culprits == {0}
    assert [place.line for place in finding.evidence] == [1, 5], "one line of each camp"


def test_after_a_failure_it_is_weaker() -> None:
    events = [timeout(0, 80, "REDUCE", line=8), timeout(1, 80, "ALLREDUCE", line=9)]
    (finding,) = check(incident(raised(3, line=2), *events))
    assert finding.strength is Strength.SUPPORTS
    assert finding.against is not None


def test_after_a_stop_it_is_a_hint() -> None:
    events = [timeout(0, 80, "REDUCE", line=8), timeout(1, 80, "ALLREDUCE", line=9)]
    (finding,) = check(incident(stopped(line=2), *events))
    assert finding.strength is Strength.HINTS


def test_the_same_number_of_two_groups_is_not_compared() -> None:
    found = incident(
        timeout(0, 80, "ALLREDUCE", group=DATA_GROUP, global_rank=0),
        timeout(1, 80, "ALLGATHER", group=TENSOR_GROUP, global_rank=1),
    )
    assert list(check(found)) == []


def test_old_lines_of_several_groups_are_not_compared() -> None:
    # Rank 0 gives up on two numbers: it speaks of two groups, and so may the others.
    found = incident(
        timeout(0, 80, "ALLREDUCE", line=1),
        timeout(1, 80, "BROADCAST", line=2),
        timeout(0, 96, "ALLREDUCE", line=3),
    )
    assert list(check(found)) == []


def test_ranks_that_count_within_sub_groups_are_not_compared() -> None:
    local = GroupRef(local_id=2)
    found = incident(
        timeout(0, 80, "ALLREDUCE", group=local, global_rank=0),
        timeout(0, 80, "ALLGATHER", group=local, global_rank=2),
        timeout(1, 80, "ALLGATHER", group=local, global_rank=1),
    )
    assert list(check(found)) == []


def test_point_to_point_operations_differ_by_design() -> None:
    found = incident(
        timeout(0, 80, "SEND", group=DEFAULT_PG, global_rank=0),
        timeout(1, 80, "RECV", group=DEFAULT_PG, global_rank=1),
    )
    assert list(check(found)) == []


def test_old_lines_without_numbers_are_not_compared() -> None:
    found = incident(timeout(0, None, "REDUCE"), timeout(1, None, "ALLREDUCE"))
    assert list(check(found)) == []


def test_ranks_that_agree_are_not_out_of_step() -> None:
    assert list(check(incident(timeout(0, 80), timeout(1, 80)))) == []
