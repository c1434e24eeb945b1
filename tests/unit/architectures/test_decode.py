"""The sizes of a collective tell the tensors, or nothing is said."""

from __future__ import annotations

import pytest

from unhang.architectures import decode, find_model, from_config, group_size, known_models
from unhang.model.contents import Layout

RANKS = (2, 4, 8, 16, 64)


def test_the_first_gather_of_llama() -> None:
    (reading,) = decode("_ALLGATHER_BASE", 262_669_312, 1_050_677_248)
    assert reading.models == ("Meta-Llama-3-8B",)
    assert reading.tensors == ("root",)
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
            (reading,) = readings
            assert model.name in reading.models
            assert unit.name in reading.tensors
            (own,) = decode("_ALLGATHER_BASE", whole // ranks, whole, [model])
            assert own.tensors == (unit.name,)


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


@pytest.mark.parametrize(
    ("op", "numel_in", "numel_out", "tensors", "model"),
    [
        # ZeRO-3 gathers parameters one by one: an untied embedding has the size of the head
        (
            "_ALLGATHER_BASE",
            29_171_712,
            233_373_696,
            ("embed_tokens.weight", "lm_head.weight"),
            "Qwen2.5-1.5B",
        ),
        (
            "_REDUCE_SCATTER_BASE",
            544_997_376,
            68_124_672,
            ("embed_tokens.weight", "lm_head.weight"),
            "Qwen2.5-7B",
        ),
        ("ALLREDUCE", 525_340_672, 525_340_672, ("norm and head",), "Meta-Llama-3-8B"),
        ("_ALLGATHER_BASE", 54_528_000, 218_112_000, ("layer",), "Meta-Llama-3-8B"),
    ],
)
def test_sizes_that_logs_show(
    op: str, numel_in: int, numel_out: int, tensors: tuple[str, ...], model: str
) -> None:
    (reading,) = decode(op, numel_in, numel_out)
    assert reading.tensors == tensors
    assert model in reading.models


def test_vectors_of_a_model_are_told_only_of_one_that_was_named() -> None:
    assert decode("ALLGATHER", 65_536, 524_288) == ()
    sizes = {"hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8}
    narrow = from_config({"model_type": "llama", "vocab_size": 517, **sizes})
    (reading,) = decode("ALLGATHER", 65_536, 524_288, [narrow])
    assert (reading.layout, reading.formula) == (Layout.FEATURES, "128 x 512")


def test_products_of_powers_of_two_are_not_believed() -> None:
    assert decode("_ALLGATHER_BASE", 4_194_304, 16_777_216) == ()
