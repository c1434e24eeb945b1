"""Ranks that left without a word."""

from __future__ import annotations

import pytest

from support.builders import by, incident, source
from support.crashes import gone, raised, stopped
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, GlooFault, GlooProblem, WorldSeen
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.rules.crash.exit_unexplained import check


def test_one_rank_left_and_the_rest_was_closed() -> None:
    job = incident(gone(6, exit_code=1), *(gone(r, signal=15) for r in range(6)))
    located, hint = check(job)
    assert (located.cause, located.culprits) == (None, frozenset({6}))
    assert (hint.cause, hint.strength) == (Cause.RANK_EXCEPTION, Strength.HINTS)
    assert hint.collect


def test_all_left_alike() -> None:
    (hint,) = check(incident(gone(0, exit_code=1), gone(1, exit_code=1)))
    assert hint.strength is Strength.HINTS
    assert hint.culprits == frozenset()


def test_a_traceback_explains_it() -> None:
    assert list(check(incident(raised(3, line=1), gone(6, exit_code=1, line=2)))) == []


def test_a_stop_explains_it() -> None:
    assert list(check(incident(stopped(line=1), gone(6, exit_code=1, line=2)))) == []


def test_others_that_gave_up_waiting_make_it_one_of_them() -> None:
    waited = raised(2, "RuntimeError", kind=ExceptionKind.COLLECTIVE, when=10, line=1)
    (hint,) = check(incident(waited, gone(1, exit_code=1, when=20, line=2)))
    assert hint.culprits == frozenset()
    later = raised(2, "RuntimeError", kind=ExceptionKind.COLLECTIVE, when=620, line=3)
    located, _ = check(incident(gone(1, exit_code=1, when=20, line=2), later))
    assert located.culprits == {1}


def test_an_exit_code_of_its_own_is_no_wait_that_was_given_up() -> None:
    waited = raised(2, "RuntimeError", kind=ExceptionKind.COLLECTIVE, when=10, line=1)
    located, _ = check(incident(waited, gone(1, exit_code=3, when=20, line=2)))
    assert located.culprits == {1}


def _lost(rank: int) -> GlooFault:
    return GlooFault(source=source(rank + 1), origin=by(rank), problem=GlooProblem.PEER_CLOSED)


def _spoke(*ranks: int) -> list[WorldSeen]:
    return [
        WorldSeen(source=source(90 + r), origin=by(r), rank=Rank(r), world_size=4) for r in ranks
    ]


def test_the_one_that_all_others_lost() -> None:
    (located,) = check(incident(*_spoke(0, 1, 2, 3), _lost(0), _lost(1), _lost(3)))
    assert (located.cause, located.culprits) == (None, frozenset({2}))


@pytest.mark.parametrize(
    ("spoke", "lost"),
    [((0, 1, 2, 3), (0, 1)), ((0, 1, 3), (0, 1, 3)), ((0, 1, 2, 3), (0, 1, 2, 3))],
    ids=["two say nothing", "never heard of", "all lost somebody"],
)
def test_nobody_where_another_may_be_it(spoke: tuple[int, ...], lost: tuple[int, ...]) -> None:
    assert list(check(incident(*_spoke(*spoke), *map(_lost, lost)))) == []
