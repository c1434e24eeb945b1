"""Whose id was waited for."""

from __future__ import annotations

from support.builders import incident
from support.crashes import store
from unhang.model.events import StoreProblem
from unhang.model.finding import Strength
from unhang.model.phases import Phase
from unhang.rules.locate.owner_of_id_late import check

WAITED = StoreProblem.UNIQUE_ID_TIMED_OUT


def test_the_owner_is_late_and_not_who_gives_up_first() -> None:
    (finding,) = check(incident(store(WAITED, rank=5, waiter=5, owner=0)))
    assert finding.culprits == {0}
    assert finding.strength is Strength.SUPPORTS
    assert finding.phase is Phase.INIT


def test_a_rank_of_a_sub_group_is_a_hint() -> None:
    (finding,) = check(incident(store(WAITED, rank=13, waiter=5, owner=0)))
    assert finding.strength is Strength.HINTS


def test_a_store_that_went_away_accuses_nobody() -> None:
    assert list(check(incident(store(StoreProblem.PEER_CLOSED, waiter=5, owner=0)))) == []


def test_a_key_without_an_owner() -> None:
    assert list(check(incident(store(StoreProblem.KEY_TIMED_OUT, waiter=5)))) == []
