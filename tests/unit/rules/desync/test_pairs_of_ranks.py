"""Few ranks that differ: which of them is out of line."""

from __future__ import annotations

import pytest

from support.builders import DEFAULT_PG, incident, status, timeout
from support.steps import mismatch, runs, world
from unhang.model.causes import Cause
from unhang.model.events import CollectiveTimeout
from unhang.model.finding import Strength
from unhang.rules.desync import data_sizes_differ, fingerprints_differ, passed_alone


def waits(rank: int, seq: int, op: str = "ALLREDUCE", numel: int = 1) -> CollectiveTimeout:
    return timeout(rank, seq, op, numel=numel, group=DEFAULT_PG, global_rank=rank)


def test_who_waits_for_more_than_the_root_sent_is_odd() -> None:
    broadcast = (waits(2, 9, "BROADCAST", 24_000_000), waits(3, 9, "BROADCAST", 64))
    gone_on = (waits(0, 11, numel=4096), status(0, 11, 12, 10))
    (finding,) = data_sizes_differ.check(incident(*broadcast, *gone_on))
    assert (finding.cause, set(finding.culprits)) == (Cause.DESYNC, {2})
    (finding,) = data_sizes_differ.check(incident(*broadcast))
    assert set(finding.culprits) == {2, 3}


def test_a_reduction_that_one_of_two_ranks_completed() -> None:
    both = (waits(1, 121), waits(0, 122, "BROADCAST"), status(0, 122, 122, 121))
    (finding,) = passed_alone.check(incident(*both))
    assert (finding.cause, set(finding.culprits)) == (Cause.DESYNC, {0, 1})


def test_equal_reductions_one_apart_may_have_lost_data() -> None:
    both = (waits(1, 121), waits(0, 122), status(0, 122, 122, 121))
    assert list(passed_alone.check(incident(*both))) == []


def test_a_broadcast_that_one_of_two_ranks_completed() -> None:
    both = (waits(1, 121, "BROADCAST"), waits(0, 122), status(0, 122, 122, 121))
    assert list(passed_alone.check(incident(world(2), *both))) == []


@pytest.mark.parametrize(
    ("number", "strength"), [(17, Strength.SUPPORTS), (44, Strength.HINTS), (46, Strength.HINTS)]
)
def test_barriers_with_numbers_far_apart_are_no_false_alarm(
    number: int, strength: Strength
) -> None:
    found = mismatch(13, runs("BARRIER", seq=number), 0, runs("BARRIER", seq=45))
    (finding,) = fingerprints_differ.check(incident(found))
    assert finding.strength is strength
