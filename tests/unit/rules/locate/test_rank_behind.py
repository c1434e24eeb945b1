"""Who had not issued what the others wait in."""

from __future__ import annotations

import pytest

from support.builders import DEFAULT_PG, incident, status, timeout
from support.steps import DATA_GROUP, TENSOR_GROUP, dump
from unhang.model.events import CollectiveTimeout, DumpReason
from unhang.model.finding import Strength
from unhang.rules.locate.rank_behind import check


def waits(rank: int, seq: int, op: str = "ALLREDUCE") -> CollectiveTimeout:
    return timeout(rank, seq, op, group=DEFAULT_PG, global_rank=rank)


def test_counters_below_the_call() -> None:
    found = incident(waits(0, 9), waits(1, 9), status(3, 8, 8, 7))
    (finding,) = check(found)
    assert (finding.cause, finding.strength) == (None, Strength.PROVES)
    assert finding.culprits == {3}
    assert (finding.claim.values["op"], finding.claim.values["seq"]) == ("ALLREDUCE", 9)


def test_counters_of_a_dump_on_another_ranks_signal() -> None:
    found = incident(waits(0, 9), waits(1, 9), dump(5, DumpReason.TOLD, enqueued=8))
    (finding,) = check(found)
    assert finding.culprits == {5}


def test_a_dump_of_a_rank_that_issued_it_too() -> None:
    found = incident(waits(0, 9), waits(1, 9), dump(5, DumpReason.TOLD, enqueued=9))
    assert list(check(found)) == []


def test_the_few_in_an_earlier_call() -> None:
    (finding,) = check(incident(waits(0, 5), waits(1, 9), waits(2, 9)))
    assert finding.culprits == {0}
    assert finding.strength is Strength.SUPPORTS


def test_the_many_in_an_earlier_call_are_not_behind() -> None:
    assert list(check(incident(waits(0, 5), waits(1, 5), waits(2, 9)))) == []


def test_as_many_in_an_earlier_call_as_in_a_later_one_are_not_behind() -> None:
    assert list(check(incident(waits(0, 5), waits(1, 9)))) == []


@pytest.mark.parametrize("op", ["SEND", "RECV"])
def test_a_pair_counts_for_itself_and_leaves_nobody_behind(op: str) -> None:
    found = incident(waits(0, 9, op), waits(1, 9, op), status(3, 8, 8, 7))
    assert list(check(found)) == []


def test_a_call_without_a_number_leaves_nobody_behind() -> None:
    alarms = (timeout(rank, None, group=DEFAULT_PG, global_rank=rank) for rank in (0, 1))
    assert list(check(incident(*alarms, status(3, 8, 8, 7)))) == []


def test_receivers_of_a_broadcast_are_not_behind_its_root() -> None:
    found = incident(waits(3, 5, "BROADCAST"), waits(0, 7), waits(1, 7))
    assert list(check(found)) == []


def test_all_in_one_call() -> None:
    assert list(check(incident(waits(0, 9), waits(1, 9)))) == []


def test_who_is_behind_because_it_waits_in_another_group_is_held_up_itself() -> None:
    """Rank 1 has not come to number 40, for it waits in its tensor group; that one has no end."""
    behind = (
        timeout(0, 40, group=DATA_GROUP, global_rank=0, line=1),
        timeout(2, 40, group=DATA_GROUP, global_rank=2, line=2),
        status(1, 40, 39, 39, group=DATA_GROUP, line=3),
    )
    (finding,) = check(incident(*behind))
    assert finding.culprits == {1}
    elsewhere = timeout(1, 90, group=TENSOR_GROUP, global_rank=1, line=4)
    assert list(check(incident(*behind, elsewhere))) == []
