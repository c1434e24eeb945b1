"""Planned memory against that of real trainings: small models on CPU processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unhang.architectures import from_config
from unhang.model.plan import Method, Precision, SaveStyle, Strategy
from unhang.planning import PlanRequest, make_plan

pytest.importorskip("torch")
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


def _measured(strategy: str, method: str) -> dict[str, int]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(SCRIPT), strategy, method],
        capture_output=True, text=True, timeout=110, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.integration
@pytest.mark.parametrize(
    ("strategy", "method"),
    [("ddp", "full"), ("fsdp", "full"), ("ddp", "lora"), ("fsdp", "lora")],
)
def test_weights_gradients_and_optimizer_are_exact(strategy: str, method: str) -> None:
    request = PlanRequest(
        model=from_config(MODEL), world=2, strategy=Strategy(strategy), method=Method(method),
        precision=Precision.FP32, lora_rank=4,
    )  # fmt: skip
    planned = {a.what: a.size_bytes for a in make_plan(request).gpu.amounts}
    real = _measured(strategy, method)
    for what in ("weights", "gradients", "optimizer"):
        assert planned[what] == real[what]


@pytest.mark.integration
def test_zero_1_shards_whole_parameters_in_pytorch() -> None:
    request = PlanRequest(
        model=from_config(MODEL), world=2, strategy=Strategy.ZERO1, precision=Precision.FP32
    )
    planned = {a.what: a.size_bytes for a in make_plan(request).gpu.amounts}
    real = _measured("zero1", "full")
    assert planned["weights"] == real["weights"]
    assert planned["optimizer"] == pytest.approx(real["optimizer"], rel=0.01)


def test_a_plan_of_rank_0_waits_for_gather_and_write() -> None:
    request = PlanRequest(
        model=from_config(MODEL), world=2, write_speed=10**6, gather_speed=10**6,
        precision=Precision.FP32, save_style=SaveStyle.RANK0,
    )  # fmt: skip
    made = make_plan(request)
    save = next(s for s in made.saves if s.style is SaveStyle.RANK0)
    assert save.wait_s == pytest.approx(2 * save.size_bytes / 10**6)
