"""Planned bytes of a save against those of a real one; `benchmarks.save_time` compares seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.architectures import from_config
from unhang.model.plan import Precision
from unhang.planning import PlanRequest, make_plan

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("layers", [1, 3])
def test_a_save_is_as_large_as_planned(tmp_path: Path, layers: int) -> None:
    torch = pytest.importorskip("torch")
    sizes = {"hidden_size": 512, "num_attention_heads": 8, "vocab_size": 8192}
    model = from_config({"model_type": "llama", "num_hidden_layers": layers, **sizes})
    request = PlanRequest(model=model, precision=Precision.FP32, save_optimizer=False)
    stored = {
        f"{number}.{copy}.{tensor.name}": torch.randn(tensor.shape)
        for number, unit in enumerate(model.units)
        for copy in range(unit.count)
        for tensor in unit.tensors
    }
    torch.save(stored, tmp_path / "model.pt")
    real = (tmp_path / "model.pt").stat().st_size
    assert make_plan(request).saves[0].size_bytes == pytest.approx(real, rel=0.001)
