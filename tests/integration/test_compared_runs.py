"""Real jobs under `unhang run` with and without a setting, as `unhang compare` tells of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.launch import launched
from unhang import compare, plan
from unhang.comparing.runs import read_record
from unhang.model.comparison import Answer, SettingChange
from unhang.planning.inputs import read_measured

pytest.importorskip("torch")
pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

NAME = "NCCL_ALGO"
SAVE_S = 5
TRAIN = """
import io, os, sys, time
if sys.argv[1] == "partly" and os.environ["RANK"] == "1":
    del os.environ["NCCL_ALGO"]
import torch, torch.distributed as dist

class Slow(io.FileIO):
    def write(self, data):
        time.sleep(min(0.5, len(data) / (8 << 20)))
        return super().write(data)

def save_checkpoint(weights):
    with Slow(sys.argv[2], "wb") as file:
        torch.save(weights, file)

dist.init_process_group("gloo")
weight = torch.nn.Parameter(torch.ones(20, 1 << 20))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(24):
    weight.grad = torch.ones_like(weight)
    dist.all_reduce(weight.grad[0])
    optimizer.step()
    time.sleep(0.2)
    if step == 12 and dist.get_rank() == 0:
        save_checkpoint({str(n): row.clone() for n, row in enumerate(weight.detach())})
    dist.barrier()
dist.destroy_process_group()
"""


def _watched(folder: Path, how: str, **more: str) -> Path:
    folder.mkdir()
    script = folder / "train.py"
    script.write_text(TRAIN)
    run = folder / "run"
    command = [sys.executable, "-m", "unhang", "run", "--out", str(run), "--"]
    inherited = {name: value for name, value in os.environ.items() if name != NAME}
    subprocess.run(
        [*command, *launched(2, script, how, str(folder / "model.pt"))],
        env={**inherited, **more, "OMP_NUM_THREADS": "1"}, check=True, timeout=300,
        capture_output=True,
    )  # fmt: skip
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run without the setting, one with it on all ranks, and one in which rank 1 lost it."""
    root = tmp_path_factory.mktemp("runs")
    return {
        "without": _watched(root / "without", "all"),
        "with": _watched(root / "with", "all", NCCL_ALGO="Tree"),
        "partly": _watched(root / "partly", "partly", NCCL_ALGO="Tree"),
    }


def _change(runs: dict[str, Path], after: str) -> SettingChange:
    made = compare((str(runs["without"]),), (str(runs[after]),))
    assert made.answer is Answer.TOO_FEW  # one run each proves nothing
    return next(change for change in made.settings if change.name == NAME)


def test_a_setting_that_reached_every_rank(runs: dict[str, Path]) -> None:
    change = _change(runs, "with")
    assert (change.before, change.after, change.partly) == ((), ("Tree",), False)
    assert change.unrecorded == ()


def test_a_setting_that_one_rank_has_lost(runs: dict[str, Path]) -> None:
    change = _change(runs, "partly")
    assert change.partly
    assert [sorted(place.ranks) for place in change.lacking] == [[1]]


def test_a_run_records_steps_phases_saves_and_hours(runs: dict[str, Path]) -> None:
    measured = read_measured(runs["without"])
    assert measured is not None
    assert measured.world_size == 2
    assert measured.steps is not None
    assert measured.steps.median_s >= 0.19
    phases = {phase.phase.value: phase.longest_s for phase in measured.phases}
    assert phases["save"] >= SAVE_S - 1
    (save,) = measured.saves
    real = (runs["without"].parent / "model.pt").stat().st_size
    assert save.rank == 0
    assert save.size_bytes == pytest.approx(real, rel=0.25)  # seen once a second
    assert save.seconds == pytest.approx(phases["save"], rel=0.01)
    assert {"torch", "python"} <= {setting.name for setting in measured.settings}
    assert read_record(runs["without"])["exit_code"] == 0


def test_a_plan_takes_what_the_run_measured(runs: dict[str, Path]) -> None:
    made = plan("llama-3-8b", sources=[str(runs["without"])])
    assert made.world == 2
    assert made.time_limits[0].phase is not None
    assert made.time_limits[0].seconds >= 600
