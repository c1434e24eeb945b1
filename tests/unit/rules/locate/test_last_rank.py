"""The only rank that does not wait; and when that says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import by, incident, source, timeout
from support.steps import dump
from unhang.model.events import DumpReason, Event, LinesDropped, Progress, WorldSeen
from unhang.model.finding import Strength
from unhang.model.provenance import Origin
from unhang.rules.locate.last_rank import check

WORLD = WorldSeen(source=source(1), origin=Origin(), world_size=4)


def waiting(*ranks: int, op: str = "ALLREDUCE", numel: int = 64) -> list[Event]:
    return [timeout(r, global_rank=r, op=op, numel=numel, line=10 + r) for r in ranks]


def line_of(rank: int, line: int) -> Progress:
    return Progress(source=source(line), origin=by(rank), label="", done=3, total=9)


def test_a_rank_that_was_told_of_the_timeout_is_the_one() -> None:
    found = incident(WORLD, *waiting(0, 1, 3), dump(2, DumpReason.OBSERVED, line=20))
    (finding,) = check(found)
    assert finding.culprits == {2}
    assert finding.strength is Strength.SUPPORTS


def test_a_rank_that_prints_on_is_the_one() -> None:
    (finding,) = check(incident(WORLD, *waiting(0, 1, 3), line_of(2, 30)))
    assert finding.strength is Strength.SUPPORTS


@pytest.mark.parametrize("line", [None, 2])
def test_of_three_silence_is_not_absence(line: int | None) -> None:
    before = [] if line is None else [line_of(2, line)]
    three = replace(WORLD, world_size=3)
    (finding,) = check(incident(three, *before, *waiting(0, 1)))
    assert finding.culprits == {2}
    assert finding.strength is Strength.HINTS


def test_three_that_gave_up_make_the_fourth_conspicuous() -> None:
    for known in ((WORLD,), ()):
        (finding,) = check(incident(*known, *waiting(0, 1, 3)))
        assert finding.culprits == {2}
        assert finding.strength is Strength.SUPPORTS
        assert finding.against is not None


def test_a_rank_without_a_log_is_not_conspicuous() -> None:
    files = [
        replace(e, source=replace(e.source, artifact=f"rank_{e.origin.rank}.log"))
        for e in waiting(0, 1, 3)
    ]
    (finding,) = check(incident(WORLD, *files))
    assert finding.strength is Strength.HINTS
    assert list(check(incident(*files))) == []


@pytest.mark.parametrize(
    "events",
    [
        (*waiting(0, 1, 2),),
        (*waiting(0, 1, 4),),
        (*waiting(0, 2),),
        (WORLD, *waiting(0, 1)),
        (WORLD, *waiting(0, 1, 2, 3)),
        (WORLD, *waiting(0, 1), timeout(3, global_rank=3, numel=65, line=13)),
        (WORLD, *waiting(0, 1, 3, op="BROADCAST")),
        (WORLD, *waiting(0, 1, 3), timeout(2, seq=9, global_rank=2, line=14)),
        (
            WORLD,
            *waiting(0, 1, 3),
            LinesDropped(source=source(15), origin=Origin(), count=7),
        ),
    ],
    ids=[
        "all counted",
        "two numbers out",
        "two of three",
        "two left",
        "nobody left",
        "sizes",
        "rooted",
        "elsewhere",
        "dropped",
    ],
)
def test_it_stays_quiet(events: tuple[Event, ...]) -> None:
    assert list(check(incident(*events))) == []


def test_two_ranks_are_too_few() -> None:
    pair = replace(WORLD, world_size=2)
    assert list(check(incident(pair, *waiting(0), line_of(1, 30)))) == []


def test_the_first_rank_of_another_file_may_not_be_the_last_of_the_job() -> None:
    spoke = line_of(3, 30)
    elsewhere = replace(spoke, source=source(30, "node1.log"))
    assert list(check(incident(*waiting(0, 1, 2), elsewhere))) == []
    for known, line in (((), spoke), ((WORLD,), elsewhere)):
        (finding,) = check(incident(*known, *waiting(0, 1, 2), line))
        assert finding.culprits == {3}
