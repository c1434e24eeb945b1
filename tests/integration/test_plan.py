"""Planned memory against that of real trainings: small models on CPU processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.needs import NEEDS_TORCH
from unhang.architectures import from_config
from unhang.model.plan import Method, Precision, Strategy
from unhang.planning import PlanRequest, make_plan

pytestmark = [pytest.mark.integration, NEEDS_TORCH]
SCRIPT = Path(__file__).parent / "scripts" / "small_decoder.py"
MODEL = {
    "model_type": "llama",
    "hidden_size": 96,
    "intermediate_size": 200,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "vocab_size": 517,
}


TRAININGS = [("ddp", "full"), ("fsdp", "full"), ("ddp", "lora"), ("fsdp", "lora")]


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str], dict[str, int]]:
    """What rank 0 of each training really held, by strategy and method; all trained in one job."""
    trainings = [*TRAININGS, ("zero1", "full")]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(SCRIPT), *map(":".join, trainings)],
        capture_output=True, text=True, timeout=280, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    told = [json.loads(line) for line in done.stdout.splitlines()[-len(trainings) :]]
    return dict(zip(trainings, told, strict=True))


@pytest.mark.parametrize(("strategy", "method"), TRAININGS)
def test_weights_gradients_and_optimizer_are_exact(
    strategy: str, method: str, measured: dict[tuple[str, str], dict[str, int]]
) -> None:
    request = PlanRequest(
        model=from_config(MODEL), world=2, strategy=Strategy(strategy), method=Method(method),
        precision=Precision.FP32, lora_rank=4,
    )  # fmt: skip
    planned = {a.what: a.size_bytes for a in make_plan(request).gpu.amounts}
    real = measured[strategy, method]
    for what in ("weights", "gradients", "optimizer"):
        assert planned[what] == real[what]


def test_zero_1_shards_whole_parameters_in_pytorch(
    measured: dict[tuple[str, str], dict[str, int]],
) -> None:
    request = PlanRequest(
        model=from_config(MODEL), world=2, strategy=Strategy.ZERO1, precision=Precision.FP32
    )
    planned = {a.what: a.size_bytes for a in make_plan(request).gpu.amounts}
    real = measured["zero1", "full"]
    assert planned["weights"] == real["weights"]
    assert planned["optimizer"] == pytest.approx(real["optimizer"], rel=0.01)
