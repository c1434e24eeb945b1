"""The three scanners, and which one is taken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from unhang.sources.scan import (
    AhoCorasickScanner,
    GrowingScanner,
    HyperscanScanner,
    PlainScanner,
    Scanner,
    fastest,
    scanner,
)

KINDS = [HyperscanScanner, AhoCorasickScanner, PlainScanner, GrowingScanner]
NEEDLES = [b"ab", b"abc", b"bc", b"x1y", b"step 9"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_where_a_needle_ends(kind: Callable[[Sequence[bytes]], Scanner]) -> None:
    data = b"zabc\nab\rstep 9 step 8 x1y x2y\nabab"
    found = kind(NEEDLES).hits(data, 0, len(data))
    assert [(data[offset - 2 : offset], NEEDLES[index]) for offset, index in found] == [
        (b"ab", b"ab"),
        (b"bc", b"abc"),
        (b"bc", b"bc"),
        (b"ab", b"ab"),
        (b" 9", b"step 9"),
        (b"1y", b"x1y"),
        (b"ab", b"ab"),
        (b"ab", b"ab"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_only_within_the_piece(kind: Callable[[Sequence[bytes]], Scanner]) -> None:
    finder = kind(NEEDLES)
    assert finder.hits(bytearray(b"abab"), 1, 3) == []
    assert finder.hits(bytearray(b"abab"), 1, 4) == [(4, 0)]


def test_shapes_that_hold_nothing_are_remembered_but_needles_still_found() -> None:
    finder = PlainScanner(NEEDLES)
    for number in range(12):
        line = b"step %d" % number
        assert bool(finder.hits(line, 0, len(line))) is (number == 9)


def test_older_releases_of_hyperscan_take_bytes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = pytest.importorskip("hyperscan")

    class Database:
        def __init__(self, **how: Any) -> None:
            self._real = newest.Database(**how)
            self.compile = self._real.compile

        def scan(self, data: object, **how: Any) -> None:
            if not isinstance(data, bytes):
                raise TypeError("a bytes-like object is required")
            self._real.scan(data, **how)

    older = SimpleNamespace(Database=Database, HS_MODE_BLOCK=newest.HS_MODE_BLOCK)
    monkeypatch.setitem(sys.modules, "hyperscan", older)
    assert HyperscanScanner([b"ab"]).hits(bytearray(b"abab"), 1, 4) == [(4, 0)]


def test_the_fastest_that_is_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(fastest(NEEDLES), HyperscanScanner)
    assert isinstance(scanner(NEEDLES, plain=True), PlainScanner)
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    assert isinstance(fastest(NEEDLES), AhoCorasickScanner)
    assert isinstance(scanner(NEEDLES), GrowingScanner)
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    assert isinstance(scanner(NEEDLES), PlainScanner)
    assert scanner([]).hits(b"abc", 0, 3) == []


def test_the_fastest_is_built_once_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Sequence[bytes]] = []

    def counted(needles: Sequence[bytes]) -> Scanner:
        built.append(needles)
        return fastest(needles)

    monkeypatch.setattr("unhang.sources.scan.MUCH", 8)
    monkeypatch.setattr("unhang.sources.scan.fastest", counted)
    finder = GrowingScanner(NEEDLES)
    for searched in range(4):
        assert finder.hits(b"zab-", 0, 4) == [(3, 0)]
        assert len(built) == (searched > 1)
