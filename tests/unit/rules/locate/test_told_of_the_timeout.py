"""Ranks that dumped because others told them."""

from __future__ import annotations

import pytest

from support.builders import incident, timeout
from support.steps import dump
from unhang.model.events import DumpReason
from unhang.model.finding import Strength
from unhang.rules.locate.told_of_the_timeout import check


@pytest.mark.parametrize("reason", [DumpReason.OBSERVED, DumpReason.TOLD])
def test_it_hints_at_who_did_not_wait(reason: DumpReason) -> None:
    (finding,) = check(incident(timeout(0, global_rank=0), dump(5, reason)))
    assert finding.culprits == {5}
    assert finding.strength is Strength.HINTS


def test_a_rank_with_a_time_out_of_its_own_is_no_suspect() -> None:
    found = incident(timeout(0, global_rank=0), dump(0, DumpReason.OBSERVED))
    assert list(check(found)) == []


def test_a_rank_that_raised_the_alarm_is_no_suspect() -> None:
    found = incident(dump(5, DumpReason.OWN, line=1), dump(5, DumpReason.TOLD, line=2))
    assert list(check(found)) == []


def test_without_an_alarm_there_is_nothing_to_be_told() -> None:
    assert list(check(incident(dump(5, DumpReason.OBSERVED)))) == []
