"""Planned memory against that of real trainings: small models on CPU processes."""

from __future__ import annotations

import pytest

from peers import STATE, TRAININGS, amounts, train

pytest.importorskip("torch")
NEAR = 0.15


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("strategy", "method", "precision"),
    [training for training in TRAININGS if not training[0].startswith("ds-")],
)
def test_a_real_training_holds_what_is_planned(strategy: str, method: str, precision: str) -> None:
    """The state to the byte, and the memory that the processes really take at their peak."""
    planned = amounts(strategy, method, precision)
    real = train(strategy, method, precision)
    assert {what: planned[what] for what in STATE} == {what: real[what] for what in STATE}
    assert sum(planned.values()) == pytest.approx(real["peak"], rel=NEAR)


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_deepspeed_holds_what_is_planned(stage: int) -> None:
    pytest.importorskip("deepspeed")
    planned = amounts(f"zero{stage}", "full", "bf16-master")
    real = train(f"ds-zero{stage}", "full", "bf16-master")
    assert {what: planned[what] for what in STATE} == {what: real[what] for what in STATE}
    assert sum(planned.values()) == pytest.approx(real["peak"], rel=NEAR)


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_zero_1_shards_whole_parameters_in_pytorch() -> None:
    planned, real = amounts("zero1", "full", "fp32"), train("zero1", "full", "fp32")
    assert planned["weights"] == real["weights"]
    assert planned["optimizer"] == pytest.approx(real["optimizer"], rel=0.02)
