"""Ranks are printed and read by one function each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.model.ids import format_ranks, parse_ranks


def test_ranks_are_printed_as_ranges() -> None:
    assert format_ranks([3, 1, 2, 0, 7]) == "0-3,7"


@given(st.sets(st.integers(0, 5_000)))
def test_ranks_survive_their_ranges(ranks: set[int]) -> None:
    assert parse_ranks(format_ranks(ranks)) == frozenset(ranks)


@pytest.mark.parametrize("text", ["0-9999999", "0,1-", "a", "0 1", "-3"])
def test_what_is_no_list_of_ranks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ranks"):
        parse_ranks(text)
