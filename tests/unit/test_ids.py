"""Ranks are printed by one function."""

from unhang.model.ids import format_ranks


def test_ranks_are_printed_as_ranges() -> None:
    assert format_ranks([3, 1, 2, 0, 7]) == "0-3,7"
