"""Planned memory against that of real trainings: small models on CPU processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unhang.architectures import from_config
from unhang.model.plan import Method, Precision, SaveStyle, Strategy
from unhang.planning import PlanRequest, make_plan

pytest.importorskip("torch")
SCRIPT = Path(__file__).parent / "scripts" / "small_decoder.py"
MODEL = {
    "model_type": "llama",
    "hidden_size": 384,
    "intermediate_size": 1001,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "vocab_size": 4099,
}
SHAPE: dict[str, Any] = {"lora_rank": 4, "seq": 128, "batch": 4}
STATE = ("weights", "gradients", "optimizer")
NEAR = 0.15


def _measured(strategy: str, method: str, precision: str) -> dict[str, int]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    alone = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [*command, str(SCRIPT), strategy, method, precision],
        capture_output=True, text=True, timeout=280, check=True, env={**os.environ, **alone},
    )  # fmt: skip
    found: dict[str, int] = json.loads(
        next(line for line in done.stdout.splitlines() if line.startswith("{"))
    )
    return found


def _planned(strategy: str, method: str, precision: str) -> dict[str, int]:
    request = PlanRequest(
        model=from_config(MODEL), world=2, strategy=Strategy(strategy), method=Method(method),
        precision=Precision(precision), **SHAPE,
    )  # fmt: skip
    amounts = {a.what: a.size_bytes for a in make_plan(request).gpu.amounts}
    del amounts["reserve"]  # CUDA's and NCCL's
    return amounts


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("strategy", "method", "precision"),
    [
        ("ddp", "full", "fp32"),
        ("ddp", "lora", "bf16-mixed"),
        ("fsdp", "full", "fp32"),
        ("fsdp", "full", "bf16-mixed"),
        ("fsdp", "lora", "fp32"),
        ("fsdp", "lora", "bf16-mixed"),
    ],
)
def test_a_real_training_holds_what_is_planned(strategy: str, method: str, precision: str) -> None:
    """The state to the byte, and the memory that the processes really take at their peak."""
    planned = _planned(strategy, method, precision)
    real = _measured(strategy, method, precision)
    assert {what: planned[what] for what in STATE} == {what: real[what] for what in STATE}
    assert sum(planned.values()) == pytest.approx(real["peak"], rel=NEAR)


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_deepspeed_holds_what_is_planned(stage: int) -> None:
    pytest.importorskip("deepspeed")
    planned = _planned(f"zero{stage}", "full", "bf16-master")
    real = _measured(f"ds-zero{stage}", "full", "bf16-master")
    assert {what: planned[what] for what in STATE} == {what: real[what] for what in STATE}
    assert sum(planned.values()) == pytest.approx(real["peak"], rel=NEAR)


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_zero_1_shards_whole_parameters_in_pytorch() -> None:
    planned, real = _planned("zero1", "full", "fp32"), _measured("zero1", "full", "fp32")
    assert planned["weights"] == real["weights"]
    assert planned["optimizer"] == pytest.approx(real["optimizer"], rel=0.02)


def test_a_plan_of_rank_0_waits_for_gather_and_write() -> None:
    request = PlanRequest(
        model=from_config(MODEL), world=2, write_speed=10**6, gather_speed=10**6,
        precision=Precision.FP32, save_style=SaveStyle.RANK0,
    )  # fmt: skip
    made = make_plan(request)
    save = next(s for s in made.saves if s.style is SaveStyle.RANK0)
    assert save.wait_s == pytest.approx(2 * save.size_bytes / 10**6)
