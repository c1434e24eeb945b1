"""Shared memory that is full."""

from __future__ import annotations

from support.builders import incident
from support.crashes import gone, raised, stopped
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, Reporter
from unhang.model.finding import Strength
from unhang.rules.crash.shared_memory import check


def test_a_worker_dies_of_a_bus_error() -> None:
    job = incident(gone(signal=7, worker=True, reporter=Reporter.DATALOADER))
    (finding,) = check(job)
    assert (finding.cause, finding.strength) == (Cause.SHM_SMALL, Strength.PROVES)
    assert finding.culprits == frozenset()


def test_pytorch_says_so() -> None:
    (finding,) = check(incident(raised(2, kind=ExceptionKind.SHARED_MEMORY)))
    assert (finding.strength, finding.culprits) == (Strength.PROVES, frozenset({2}))


def test_a_rank_s_bus_error_supports_it() -> None:
    (finding,) = check(incident(gone(2, signal=7), gone(0, signal=15)))
    assert (finding.strength, finding.culprits) == (Strength.SUPPORTS, frozenset({2}))


def test_after_a_stop_it_is_a_hint() -> None:
    job = incident(
        stopped(line=1), gone(signal=7, worker=True, reporter=Reporter.DATALOADER, line=2)
    )
    (finding,) = check(job)
    assert finding.strength is Strength.HINTS


def test_a_worker_killed_otherwise_is_no_matter_of_shared_memory() -> None:
    job = incident(gone(signal=9, worker=True, reporter=Reporter.DATALOADER))
    assert list(check(job)) == []
