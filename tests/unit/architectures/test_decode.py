"""The sizes of a collective tell the tensors, or nothing is said."""

from __future__ import annotations

import pytest

from unhang.architectures import decode, find_model, known_models
from unhang.architectures.decode import group_size

RANKS = (2, 4, 8, 16, 64)


def test_the_first_gather_of_llama() -> None:
    (reading,) = decode("_ALLGATHER_BASE", 262_669_312, 1_050_677_248)
    assert reading.model == "Meta-Llama-3-8B"
    assert reading.unit == "root"
    assert reading.formula == "2 x 128256 x 4096 + 4096"
    assert reading.group_size == 4


@pytest.mark.parametrize("name", known_models())
@pytest.mark.parametrize("ranks", RANKS)
def test_every_unit_of_a_model_is_found_again(name: str, ranks: int) -> None:
    model = find_model(name)
    assert model is not None
    for unit in model.units:
        whole = -(-unit.numel // ranks) * ranks
        gathers = decode("_ALLGATHER_BASE", whole // ranks, whole)
        scatters = decode("_REDUCE_SCATTER_BASE", whole, whole // ranks)
        for readings in (gathers, scatters):
            assert (model.name, unit.name) in {(r.model, r.unit) for r in readings}
            assert {r.unit for r in readings} == {unit.name}


@pytest.mark.parametrize("numel", [1, 8, 65_536, 1 << 25, 100_003, 12_345_678, 25 * 2**20])
def test_what_is_no_sum_of_parts_says_nothing(numel: int) -> None:
    assert decode("ALLREDUCE", numel, numel) == ()


def test_a_unit_one_element_off_is_not_believed() -> None:
    assert decode("_ALLGATHER_BASE", 262_669_313, 4 * 262_669_313) == ()


@pytest.mark.parametrize(
    ("op", "numel_in", "numel_out", "ranks"),
    [
        ("ALLGATHER", 10, 80, 8),
        ("_REDUCE_SCATTER_BASE", 80, 10, 8),
        ("ALLREDUCE", 80, 80, None),
        ("ALLGATHER", 10, 85, None),
        ("ALLGATHER", 0, 80, None),
        ("ALLGATHER", None, 80, None),
        (None, 10, 80, None),
    ],
)
def test_group_size(
    op: str | None, numel_in: int | None, numel_out: int, ranks: int | None
) -> None:
    assert group_size(op, numel_in, numel_out) == ranks
