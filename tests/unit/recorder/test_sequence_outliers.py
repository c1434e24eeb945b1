"""Which rank left its habit, from the moves of each."""

from types import SimpleNamespace
from typing import cast

from unhang.assemble.recorder.process_groups import Recordings
from unhang.assemble.recorder.sequence_outliers import find_unusual
from unhang.model.ids import Rank

FIRST, SECOND = 2, 3
"""Groups of the same ranks."""

STEP = [FIRST, FIRST, SECOND]
"""The gradients and a loss in the first group, then a loss in the second."""


def recordings(*ends: list[int]) -> Recordings:
    """Ranks that made five steps, and what each did after them."""
    made = {Rank(r): SimpleNamespace(course=5 * STEP + end) for r, end in enumerate(ends)}
    return cast(Recordings, made)


def test_a_group_that_is_used_twice_a_step_is_told_by_two_moves_before() -> None:
    found = recordings([FIRST, FIRST], [FIRST, SECOND], [FIRST, FIRST], [FIRST, FIRST])
    assert find_unusual(found, frozenset(found)) == {1}


def test_what_half_of_the_ranks_do_is_not_unusual() -> None:
    found = recordings([FIRST, FIRST], [FIRST, SECOND], [FIRST, FIRST], [FIRST, SECOND])
    assert find_unusual(found, frozenset(found)) == set()


def test_who_is_in_the_middle_of_a_step_did_nothing_unusual() -> None:
    found = recordings([FIRST, FIRST], [FIRST], [], STEP)
    assert find_unusual(found, frozenset(found)) == set()
