"""Bars of several ranks that are not in one step."""

from __future__ import annotations

from dataclasses import replace

from support.builders import by, incident, source, timeout
from unhang.model.causes import Cause
from unhang.model.events import Event, Progress
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.rules.desync.bars_out_of_step import check


def named(rank: int, done: int, label: str = "Epoch 2") -> Progress:
    """The last state of a bar whose label names its rank."""
    return Progress(
        source=source(rank + 1),
        origin=by(None),
        label=f"{label}, Rank {rank}",
        done=done,
        total=None,
        phase=Phase.TRAIN,
        rank=Rank(rank),
    )


def test_the_rank_in_a_label_does_not_make_another_bar_of_it() -> None:
    events: list[Event] = [named(0, 40), named(1, 40), named(2, 19), timeout(2, line=9)]
    (finding,) = check(incident(*events))
    assert (finding.cause, finding.strength) == (Cause.UNEVEN_WORK, Strength.SUPPORTS)


def test_bars_of_different_work_are_not_compared() -> None:
    events: list[Event] = [named(0, 40), named(1, 19, label="Epoch 3"), timeout(1, line=9)]
    assert list(check(incident(*events))) == []


def test_a_step_between_two_prints_is_no_difference() -> None:
    events: list[Event] = [named(0, 40), named(1, 39), timeout(1, line=9)]
    assert list(check(incident(*events))) == []


def nameless(done: int, seconds: float, line: int) -> Progress:
    """A state of a bar of 1000 steps that names nobody."""
    told = replace(named(0, done), source=source(line), label="", total=1000, rank=None, phase=None)
    return replace(told, elapsed_s=seconds)


def test_a_later_print_that_is_behind_is_another_ranks() -> None:
    events: list[Event] = [nameless(900, 90, 1), nameless(500, 91, 2), timeout(1, line=9)]
    assert len(list(check(incident(*events)))) == 1


def test_a_loop_that_begins_after_one_as_long_has_ended_is_not_behind_it() -> None:
    ended = [nameless(900, 27, 1), nameless(1000, 30, 2)]
    bars = [*ended, nameless(0, 0, 3), nameless(400, 60, 4)]
    assert list(check(incident(*bars, timeout(1, line=9)))) == []
