"""Ranks are printed and read by one function each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.model.ids import Rank, RankSpans, format_ranks, parse_ranks


def test_ranks_are_printed_as_ranges() -> None:
    assert format_ranks([3, 1, 2, 0, 7]) == "0-3,7"


@given(st.sets(st.integers(0, 5_000)))
def test_ranks_survive_their_ranges(ranks: set[int]) -> None:
    assert parse_ranks(format_ranks(ranks)) == frozenset(ranks)


@pytest.mark.parametrize("text", ["0-9999999", "0,1-", "a", "0 1", "-3"])
def test_what_is_no_list_of_ranks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ranks"):
        parse_ranks(text)


_RANKS = st.sets(st.integers(0, 60).map(Rank)).map(frozenset)


@given(_RANKS, _RANKS)
def test_ranges_are_sets(one: frozenset[Rank], other: frozenset[Rank]) -> None:
    spans = RankSpans.of(one)
    for told in (other, RankSpans.of(other)):
        assert frozenset(spans - told) == one - other
        assert frozenset(spans & told) == one & other
        assert frozenset(spans | told) == one | other
    assert other - spans == other - one
    assert other & spans == other & one
    assert other | spans == other | one
    assert (spans >= other) == (one >= other)
    assert (len(spans), bool(spans), sorted(spans)) == (len(one), bool(one), sorted(one))
    assert [rank in spans for rank in range(61)] == [rank in one for rank in range(61)]


def test_all_ranks_of_a_claimed_job_cost_nothing() -> None:
    silent = RankSpans.below(1 << 60) - {Rank(7), Rank(9)}
    assert format_ranks(silent) == f"0-6,8,10-{(1 << 60) - 1}"
    assert frozenset({Rank(7), Rank(8)}) & silent == {Rank(8)}
