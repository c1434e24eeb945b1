"""The needles that stand as data."""

from __future__ import annotations

from unhang.model.toml import load
from unhang.parsers import PARSERS


def test_every_row_is_a_parsers_and_all_of_it_is_looked_for_once() -> None:
    by_name = {parser.NAME: parser.NEEDLES for parser in PARSERS}
    for name, row in load("unhang.parsers", "data/needles.toml").items():
        assert set(row) <= set(by_name[name]), name
        assert len(row) == len(set(row)), name
