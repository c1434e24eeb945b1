"""The loops that a main thread stands in, from the probe to an event."""

from __future__ import annotations

import sys

import pytest

from support.feeding import feed, only
from unhang.model.events import LoopStood
from unhang.parsers.loops_stood import LoopsStoodParser
from unhang.probe.loops import around


def stand(times: int) -> list[str]:
    """What is said of a call within a loop within a loop; the first line is that of `def`."""
    told: list[str] = []
    for _ in range(times):
        if times > 5:
            continue
        while not told:
            told += [text for text in around(sys._getframe()) if " of stand," in text]
    return [*told, *(text for text in around(sys._getframe()) if " of stand," in text)]


def test_each_loop_is_told_by_its_lines_the_innermost_first() -> None:
    first = stand.__code__.co_firstlineno
    found = [only(LoopStood, feed(LoopsStoodParser, text)) for text in stand(1)]
    assert {(e.function, e.file) for e in found} == {("stand", __file__)}
    assert [(e.first - first, e.last - first) for e in found] == [(6, 7), (3, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "epoch 3: in the loop of lines 20-31 of train, file train.py",
        "in the loop of lines 20 of train, file train.py",
    ],
)
def test_who_speaks_of_a_loop_is_not_the_probe(text: str) -> None:
    assert not list(feed(LoopsStoodParser, text))
