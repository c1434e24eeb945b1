"""A longer timeout that changed nothing."""

from __future__ import annotations

from support.builders import incident, timeout
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.desync.same_place_again import check


def test_the_same_call_under_a_longer_limit() -> None:
    found = incident(timeout(1, 80, line=1), timeout(1, 80, timeout_ms=7_200_000, line=90))
    (finding,) = check(found)
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.HINTS)
    assert finding.claim.values["longer"] == 7_200_000


def test_another_place_is_another_matter() -> None:
    found = incident(timeout(1, 80, line=1), timeout(1, 95, timeout_ms=7_200_000, line=90))
    assert list(check(found)) == []


def test_the_first_calls_fail_at_one_place_anyway() -> None:
    found = incident(timeout(1, 1, line=1), timeout(1, 1, timeout_ms=7_200_000, line=90))
    assert list(check(found)) == []


def test_one_limit() -> None:
    assert list(check(incident(timeout(1, 80, line=1), timeout(2, 80, line=2)))) == []
