"""Planned seconds of a save against real ones, on the disk that the tests run on."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from unhang.architectures import from_config
from unhang.model.plan import Precision, SaveStyle
from unhang.planning import PlanRequest, make_plan
from unhang.planning.storage import measure_write

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LAYERS = {"small": 1, "middle": 3, "large": 7}
"""84, 219 and 487 MB."""
ATTEMPTS = 4
NEAR = 0.3


def _request(layers: int) -> PlanRequest:
    sizes = {"hidden_size": 1024, "num_attention_heads": 8, "vocab_size": 8192}
    model = from_config({"model_type": "llama", "num_hidden_layers": layers, **sizes})
    return PlanRequest(
        model=model, precision=Precision.FP32, save_style=SaveStyle.RANK0, save_optimizer=False
    )


def _save_s(request: PlanRequest, path: Path) -> float:
    stored = {
        f"{number}.{copy}.{tensor.name}": torch.randn(tensor.shape)
        for number, unit in enumerate(request.model.units)
        for copy in range(unit.count)
        for tensor in unit.tensors
    }
    begin = time.perf_counter()
    torch.save(stored, path)
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    return time.perf_counter() - begin


@pytest.mark.parametrize("size", LAYERS)
def test_a_save_takes_about_as_long_as_planned(tmp_path: Path, size: str) -> None:
    """Measured in turn, the speed before and after: a busy disk changes from second to second."""
    request, file, ratios = _request(LAYERS[size]), tmp_path / "model.pt", []
    before = measure_write(tmp_path)
    for _ in range(ATTEMPTS):
        took_s = _save_s(request, file)
        after = measure_write(tmp_path)
        made = make_plan(replace(request, write_speed=(before + after) // 2))
        save = next(s for s in made.saves if s.style is SaveStyle.RANK0)
        assert save.size_bytes == pytest.approx(file.stat().st_size, rel=0.001)
        assert save.wait_s is not None
        ratios.append(save.wait_s / took_s)
        file.unlink()
        before = after
    assert median(ratios) == pytest.approx(1.0, abs=NEAR), ratios
