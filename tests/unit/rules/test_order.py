"""What came first."""

from __future__ import annotations

from dataclasses import replace

from support.crashes import raised, stopped, work
from unhang.rules.shared import order


def test_times_come_before_places() -> None:
    early, late = raised(1, when=10, line=9), stopped(when=20, line=1)
    assert order.is_before(early, late) is True
    assert order.is_before(late, early) is False


def test_equal_times_are_told_apart_by_place() -> None:
    first, second = raised(1, when=10, line=1), stopped(when=10, line=2)
    assert order.is_before(first, second) is True


def test_two_logs_without_times_have_no_order() -> None:
    here, there = raised(1, line=1), raised(2, line=9, artifact="other.log")
    assert order.is_before(here, there) is None


def test_the_earliest_of_facts_without_order_is_the_first_read() -> None:
    here, there = raised(1, line=5), raised(2, line=1, artifact="other.log")
    assert order.earliest([here, there]) is here
    assert order.earliest([work(1, line=7), work(2, line=3)]) == work(2, line=3)
    assert order.earliest([]) is None


def test_what_was_asked_for_afterwards_has_no_place_in_time() -> None:
    answered, heard = replace(stopped(line=9), told_later=True), stopped(line=9)
    assert order.is_before(raised(1, line=1), answered) is None
    assert order.is_before(raised(1, line=1), heard) is True
    dated = replace(stopped(when=20, line=1), told_later=True)
    assert order.is_before(raised(1, when=10, line=9), dated) is True
