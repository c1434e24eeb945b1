"""Full file systems."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import incident, timeout
from support.crashes import gone, raised
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, Reporter
from unhang.model.finding import Strength
from unhang.rules.crash.disk_full import check
from unhang.rules.crash.rank_raised import check as check_raised

FULL = ExceptionKind.DISK_FULL


def test_a_rank_finds_no_space() -> None:
    (finding,) = check(incident(raised(0, "OSError", kind=FULL)))
    assert (finding.cause, finding.strength) == (Cause.RANK_EXCEPTION, Strength.PROVES)
    assert finding.culprits == {0}


def test_after_a_time_out_it_is_a_hint() -> None:
    job = incident(
        timeout(1, global_rank=1, when=1, line=1), raised(0, "OSError", kind=FULL, when=9, line=2)
    )
    (finding,) = check(job)
    assert finding.strength is Strength.HINTS


def test_with_a_bus_error_of_a_worker_it_is_shared_memory() -> None:
    job = incident(
        raised(0, "OSError", kind=FULL, line=1),
        gone(signal=7, worker=True, reporter=Reporter.DATALOADER, line=2),
    )
    assert list(check(job)) == []


@pytest.mark.parametrize("rank", [2, None])
def test_what_the_last_exception_came_from_tells_more(rank: int | None) -> None:
    first = replace(raised(rank, "OSError", kind=FULL, line=1), chained=True)
    job = incident(first, raised(rank, "SaveError", line=9))
    (finding,) = check(job)
    assert finding.culprits == (frozenset() if rank is None else {rank})
    assert len(job.failures) == 1
    assert list(check_raised(job)) == []


def test_other_exceptions_are_not_its_business() -> None:
    assert list(check(incident(raised(0, "OSError")))) == []
