"""Which of two calls was due, from the calls that a group had made before."""

from types import SimpleNamespace
from typing import cast

import pytest

from unhang.assemble.recorder.differences import _habitual
from unhang.assemble.recorder.process_groups import ProcessGroup
from unhang.model.ids import Rank
from unhang.model.recording import GroupTrace

GRADIENT, METRIC = 0, 1


@pytest.mark.parametrize(
    ("before", "due"),
    [
        (3 * [*(4 * [GRADIENT]), METRIC] + 4 * [GRADIENT], METRIC),
        (3 * [*(4 * [GRADIENT]), METRIC] + 2 * [GRADIENT], GRADIENT),
        (8 * [GRADIENT], GRADIENT),
        ([GRADIENT, METRIC, *(5 * [GRADIENT])], None),
        ([GRADIENT, METRIC, GRADIENT, GRADIENT, METRIC, METRIC, GRADIENT], None),
    ],
    ids=["after a period", "within it", "the other is new", "once is no rhythm", "now and then"],
)
def test_what_has_always_followed_the_last_calls_is_due(before: list[int], due: int | None) -> None:
    """Of two ranks, one goes on with the gradients and the other tells its metrics."""
    traces = {
        Rank(rank): cast(
            GroupTrace,
            SimpleNamespace(seqs=range(len(before) + 1), kinds=[*before, kind]),
        )
        for rank, kind in enumerate((GRADIENT, METRIC))
    }
    group = ProcessGroup("0", "default_pg", (Rank(0), Rank(1)), traces)
    assert _habitual({GRADIENT, METRIC}, group, len(before)) == due
