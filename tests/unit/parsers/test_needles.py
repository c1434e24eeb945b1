"""The needles that stand as data."""

from __future__ import annotations

from unhang.model.toml import load
from unhang.parsers import PARSERS


def test_every_row_is_a_parsers_and_all_of_it_is_looked_for() -> None:
    rows = load("unhang.parsers", "data/needles.toml")
    by_name = {parser.NAME: set(parser.NEEDLES) for parser in PARSERS}
    assert {name: set(row) - by_name[name] for name, row in rows.items()} == dict.fromkeys(
        rows, set()
    )


def test_no_needle_stands_twice() -> None:
    rows = load("unhang.parsers", "data/needles.toml")
    assert {n: r for n, r in rows.items() if len(r) != len(set(r))} == {}
