"""Set planned seconds of a save against real ones, on the disk of a folder.

    python -m benchmarks.save_time [--folder DIR]

The speed is measured before and after each save, in turn: a busy disk changes from second to
second. A median of planned by real that is further from 1 than its target is an error.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch

from unhang.architectures import from_config
from unhang.model.plan import Precision, Save, SaveStyle
from unhang.planning import PlanRequest, make_plan
from unhang.planning.storage import measure_write

LAYERS = (1, 3, 7)
"""134, 268 and 537 MB."""
ATTEMPTS = 4
NEAR = 0.3


def request_of(layers: int) -> PlanRequest:
    """A model that rank 0 saves alone."""
    sizes = {"hidden_size": 1024, "num_attention_heads": 8, "vocab_size": 8192}
    model = from_config({"model_type": "llama", "num_hidden_layers": layers, **sizes})
    return PlanRequest(
        model=model, precision=Precision.FP32, save_style=SaveStyle.RANK0, save_optimizer=False
    )


def planned(request: PlanRequest, speed: int) -> Save:
    """The save by rank 0 on a storage that takes so many bytes a second."""
    made = make_plan(replace(request, write_speed=speed))
    return next(save for save in made.saves if save.style is SaveStyle.RANK0)


def write(request: PlanRequest, path: Path) -> float:
    """Save tensors of the model's shapes; return the seconds until they are on the medium."""
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


def ratio_of(request: PlanRequest, folder: Path) -> float:
    """Planned by real seconds, the median of a few saves."""
    ratios, file = [], folder / "model.pt"
    before = measure_write(folder)
    for _ in range(ATTEMPTS):
        took_s = write(request, file)
        after = measure_write(folder)
        wait_s = planned(request, (before + after) // 2).wait_s
        assert wait_s is not None
        ratios.append(wait_s / took_s)
        file.unlink()
        before = after
    return median(ratios)


def main() -> int:
    """Print a ratio for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.save_time", description=__doc__)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    far = False
    with tempfile.TemporaryDirectory(prefix="unhang-bench-", dir=options.folder) as folder:
        for layers in LAYERS:
            request = request_of(layers)
            size_mb = planned(request, 1 << 30).size_bytes / 1e6
            ratio = ratio_of(request, Path(folder))
            far |= abs(ratio - 1) > NEAR
            print(f"{size_mb:.0f} MB: planned / real {ratio:.2f}")
    return int(far)


if __name__ == "__main__":
    sys.exit(main())
