"""What the counters of a stuck call tell of set-up and of the host."""

from __future__ import annotations

from support.builders import DEFAULT_PG, incident, source, status, timeout
from unhang.model.events import Progress
from unhang.model.finding import Strength
from unhang.model.phases import Phase
from unhang.model.provenance import Origin
from unhang.rules.locate import host_ran_ahead, nothing_completed

FIRST = timeout(0, 1, group=DEFAULT_PG, global_rank=0)
LATER = timeout(0, 50, group=DEFAULT_PG, global_rank=0)


def test_nothing_was_ever_completed() -> None:
    (finding,) = nothing_completed.check(incident(FIRST, status(0, 1, 1, -1)))
    assert (finding.phase, finding.culprits) == (Phase.INIT, frozenset())


def test_something_was_completed() -> None:
    assert list(nothing_completed.check(incident(LATER, status(0, 50, 50, 49)))) == []


def test_the_first_call_is_known_by_its_number_too() -> None:
    several = [timeout(rank, 1, global_rank=rank) for rank in (0, 1)]
    (finding,) = nothing_completed.check(incident(*several))
    assert finding.strength is Strength.SUPPORTS
    trained = Progress(source=source(5), origin=Origin(), label="", done=40, total=90)
    assert list(nothing_completed.check(incident(trained, *several))) == []
    assert list(nothing_completed.check(incident(several[0]))) == []


def test_the_host_is_far_past_the_call() -> None:
    (finding,) = host_ran_ahead.check(incident(LATER, status(0, 50, 90, 49)))
    assert finding.strength is Strength.HINTS
    assert finding.claim.values["count"] == 41


def test_an_ordinary_queue() -> None:
    assert list(host_ran_ahead.check(incident(LATER, status(0, 50, 53, 49)))) == []
