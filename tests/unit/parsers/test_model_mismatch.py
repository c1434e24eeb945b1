"""What DDP and ZeRO say of models that differ."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import ModelDifference, ModelMismatch
from unhang.parsers.model_mismatch import ModelMismatchParser


@pytest.mark.parametrize(
    ("text", "difference", "rank", "other", "step"),
    [
        (
            "RuntimeError: Expected to have finished reduction in the prior iteration before "
            "starting a new one. This error indicates",
            ModelDifference.UNFINISHED_REDUCTION,
            4,
            None,
            None,
        ),
        (
            "Parameter indices which did not receive grad for rank 1: 4 5",
            ModelDifference.UNFINISHED_REDUCTION,
            1,
            None,
            None,
        ),
        (
            "Expected to mark a variable ready only once. This error is caused by",
            ModelDifference.MARKED_TWICE,
            4,
            None,
            None,
        ),
        (
            "DDP expects same model across all ranks, but Rank 1 has 12 params, while rank 0 has "
            "inconsistent 14 params.",
            ModelDifference.PARAMETER_COUNT,
            1,
            0,
            None,
        ),
        (
            "[1]: params[3] in this process with sizes [10, 20] appears not to match sizes of the "
            "same param in process 0.",
            ModelDifference.PARAMETER_SHAPE,
            1,
            0,
            None,
        ),
        (
            "Invalidate trace cache @ step 12: expected module 5, but got module 9",
            ModelDifference.MODULE_ORDER,
            4,
            None,
            12,
        ),
        (
            "RuntimeError: disagreement between rank0 and rank2: rank0: [7], rank2: [8]",
            ModelDifference.MODULE_ORDER,
            2,
            0,
            None,
        ),
    ],
)
def test_differences(
    text: str,
    difference: ModelDifference,
    rank: int | None,
    other: int | None,
    step: int | None,
) -> None:
    (found,) = feed(ModelMismatchParser, line(text, rank=4))
    assert isinstance(found, ModelMismatch)
    assert found.difference is difference
    assert (found.rank, found.other_rank, found.step) == (rank, other, step)


def test_the_numbers_of_parameters() -> None:
    text = (
        "DDP expects same model across all ranks, but Rank 1 has 12 params, while rank 0 has "
        "inconsistent 14 params."
    )
    found = only(ModelMismatch, feed(ModelMismatchParser, text))
    assert (found.count, found.other_count) == (12, 14)


def test_a_trace_that_is_still_being_learnt_is_no_difference() -> None:
    text = "Invalidate trace cache @ step 0 and module 12: cache has only 0 modules"
    assert feed(ModelMismatchParser, text) == []
