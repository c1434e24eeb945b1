"""Killed workers of data loaders."""

from __future__ import annotations

from support.builders import incident
from support.crashes import gone, raised, stopped, work
from unhang.model.causes import Cause
from unhang.model.events import Reporter
from unhang.model.finding import Strength
from unhang.rules.crash.worker_killed import check

KILLED = gone(signal=9, worker=True, reporter=Reporter.DATALOADER, line=5)


def test_a_killed_worker() -> None:
    (finding,) = check(incident(KILLED))
    assert (finding.cause, finding.strength) == (Cause.HOST_OOM, Strength.SUPPORTS)
    assert finding.culprits == frozenset()


def test_after_a_stop_or_a_failure_it_is_an_echo() -> None:
    for earlier in (stopped(line=1), raised(3, line=1)):
        (finding,) = check(incident(earlier, KILLED))
        assert finding.strength is Strength.HINTS


def test_where_the_rank_was_killed_too_that_is_told_instead() -> None:
    assert list(check(incident(KILLED, gone(3, signal=9, line=6)))) == []


def test_other_signals_say_other_things() -> None:
    assert list(check(incident(gone(signal=1, worker=True, reporter=Reporter.DATALOADER)))) == []


def test_a_loader_that_is_made_anew_is_no_loss() -> None:
    later = [work(n, line=5 + n) for n in range(1, 5)]
    assert list(check(incident(KILLED, *later))) == []
