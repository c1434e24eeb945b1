"""Planned memory against that of real trainings: small models on CPU processes."""

from __future__ import annotations

import pytest

from peers import STATE, TRAININGS, amounts, train

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(1_600),
]  # 16-bit sums are slow on some processors
NEAR = 0.15
PLAIN = [training for training in TRAININGS if not training[0].startswith("ds-")]
ZERO_1 = ("zero1", "full", "fp32")


@pytest.fixture(scope="module")
def held() -> dict[tuple[str, str, str], dict[str, int]]:
    """What each training of PyTorch alone held: they follow each other in one job."""
    trainings = [*PLAIN, ZERO_1]
    return dict(zip(trainings, train(*trainings), strict=True))


@pytest.mark.parametrize("training", PLAIN, ids="-".join)
def test_a_real_training_holds_what_is_planned(
    training: tuple[str, str, str], held: dict[tuple[str, str, str], dict[str, int]]
) -> None:
    """The state to the byte, and the memory that the processes really take at their peak."""
    planned, real = amounts(*training), held[training]
    assert {what: planned[what] for what in STATE} == {what: real[what] for what in STATE}
    assert sum(planned.values()) == pytest.approx(real["peak"], rel=NEAR)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_deepspeed_holds_what_is_planned(stage: int) -> None:
    pytest.importorskip("deepspeed")
    planned = amounts(f"zero{stage}", "full", "bf16-master")
    (real,) = train((f"ds-zero{stage}", "full", "bf16-master"))
    assert {what: planned[what] for what in STATE} == {what: real[what] for what in STATE}
    assert sum(planned.values()) == pytest.approx(real["peak"], rel=NEAR)


def test_zero_1_shards_whole_parameters_in_pytorch(
    held: dict[tuple[str, str, str], dict[str, int]],
) -> None:
    planned, real = amounts(*ZERO_1), held[ZERO_1]
    assert planned["weights"] == real["weights"]
    assert planned["optimizer"] == pytest.approx(real["optimizer"], rel=0.02)
