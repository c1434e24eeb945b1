"""Watchdogs that stand still first, and those that do as a consequence."""

from __future__ import annotations

from support.builders import incident, timeout
from support.crashes import work
from support.steps import stuck
from unhang.rules.locate.watchdog_stuck import check


def test_one_of_several_ranks() -> None:
    (finding,) = check(incident(work(1, rank=0), work(1, rank=1), stuck(1, gil=True)))
    assert finding.culprits == {1}
    assert finding.why.key == "LOC005.why_gil"


def test_all_ranks_alike_name_nobody() -> None:
    (finding,) = check(incident(stuck(0), stuck(1, line=6)))
    assert finding.culprits == frozenset()


def test_fewer_works_in_flight_show_who_is_behind() -> None:
    found = incident(stuck(0, pending=84), stuck(1, pending=103), stuck(2, pending=103))
    (finding,) = check(found)
    assert finding.culprits == {0}


def test_two_ranks_with_different_counts_do_not_tell() -> None:
    (finding,) = check(incident(stuck(0, pending=84), stuck(1, pending=103)))
    assert finding.culprits == frozenset()


def test_after_a_time_out_it_is_a_consequence() -> None:
    assert list(check(incident(timeout(0, global_rank=0), stuck(0)))) == []
