"""What a program declares reaches the judge: of two Gloo ranks, and of frameworks' own loops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from integration.launch import launched

pytestmark = pytest.mark.integration

TRAIN = """
import sys, time
from contextlib import nullcontext
import torch, torch.distributed as dist
import unhang

dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(10):
    if step == 5 and rank == 1:
        phase, seconds = sys.argv[1:]
        with nullcontext() if phase == "none" else unhang.phase(phase):
            time.sleep(float(seconds))
    dist.all_reduce(torch.ones(4))
    unhang.step(1000 + step)
    time.sleep(0.1)
dist.destroy_process_group()
"""


def run(folder: Path, phase: str, seconds: int, *options: str) -> list[dict[str, Any]]:
    """Rank 1 sleeps in a phase while rank 0 waits for it: the events of the run."""
    script = folder / "train.py"
    script.write_text(TRAIN)
    subprocess.run(
        [
            *(sys.executable, "-m", "unhang", "run", "--out", str(folder / "run"), *options),
            *("--", *launched(2, script, phase, str(seconds))),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    lines = (folder / "run" / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("phase", "suspected"), [("save", set()), ("none", {"stall_suspected"})])
def test_a_declared_save_that_stands_still_is_no_hang(
    phase: str, suspected: set[str], tmp_path: Path
) -> None:
    events = run(tmp_path, phase, 20)
    # Where cores are taken one rank is late at the start, and suspected until it is there.
    steps = [e for e in events if e.get("call", {}).get("op") != "init_process_group"]
    assert {e["kind"] for e in steps} & {"stall_suspected", "hang_confirmed"} == suspected
    entered = [e["ranks"] for e in events if e["kind"] == "phase" and e.get("phase") == "save"]
    assert entered == ([] if suspected else ["1"]), events


def test_a_hang_in_a_declared_phase_is_told_with_it(tmp_path: Path) -> None:
    events = run(tmp_path, "eval", 3600, "--on-hang", "abort", "--patience", "15")
    (hang,) = [event for event in events if event["kind"] == "hang_confirmed"]
    assert (hang["culprits"], hang["phase"]) == ([1], "eval")
    verdicts = [json.loads(p.read_text()) for p in tmp_path.glob("run/captures/*/diagnosis.json")]
    assert {(*verdict["culprits"], verdict["phase"]) for verdict in verdicts} == {(1, "eval")}


HEARS = """
import sys, tempfile
from unhang.probe import declared, steps
sys.modules["_unhang_probe.declared"] = declared  # as in a process that the judge watches
import torch
told = []
def tell(what):
    told.append(f"{what} in {declared.phase()}")
"""

TRANSFORMERS = """
from transformers import Trainer, TrainingArguments
from unhang.callbacks.transformers import TellJudge

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
    def forward(self, x, labels=None):
        tell("step" if self.training else "prediction")
        out = self.inner(x)
        return {"loss": (out - labels).square().mean(), "logits": out}

class Saving(Trainer):
    def _save_checkpoint(self, *args, **kwargs):
        tell("save")
        return super()._save_checkpoint(*args, **kwargs)

rows = [{"x": torch.ones(2), "labels": torch.ones(2)}] * 4
when = dict(max_steps=2, eval_strategy="steps", eval_steps=1, save_steps=2)
size = dict(per_device_train_batch_size=2, per_device_eval_batch_size=4, use_cpu=True)
args = TrainingArguments(tempfile.mkdtemp(), report_to=[], **when, **size)
data = dict(train_dataset=rows, eval_dataset=rows)
Saving(model=Model(), args=args, callbacks=[TellJudge()], **data).train()
"""

LIGHTNING = """
import lightning.pytorch as pl
from lightning.pytorch.plugins.io import TorchCheckpointIO
from unhang.callbacks.lightning import TellJudge

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
    def training_step(self, batch, _):
        tell("step")
        return self.inner(batch).mean()
    def validation_step(self, batch, _):
        tell("prediction")
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

class Saving(TorchCheckpointIO):
    def save_checkpoint(self, *args, **kwargs):
        tell("save")
        super().save_checkpoint(*args, **kwargs)

loader = torch.utils.data.DataLoader(torch.ones(2, 2), batch_size=2)
quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
pl.Trainer(
    max_epochs=2, accelerator="cpu", num_sanity_val_steps=0, default_root_dir=tempfile.mkdtemp(),
    plugins=[Saving()], callbacks=[TellJudge()], **quiet,
).fit(Model(), loader, loader)
"""
STEP, EVALUATES, SAVES = "step in None", "prediction in eval", "save in save"


@pytest.mark.parametrize(
    ("package", "program", "told"),
    [
        ("transformers", TRANSFORMERS, [STEP, EVALUATES, STEP, EVALUATES, SAVES]),
        ("lightning", LIGHTNING, [STEP, EVALUATES, SAVES, STEP, EVALUATES, SAVES]),
    ],
)
def test_a_callback_tells_the_phases_and_steps_of_a_real_framework(
    package: str, program: str, told: list[str], tmp_path: Path
) -> None:
    pytest.importorskip(package)
    script = tmp_path / "train.py"
    ends = "print([told, declared.phase(), steps.COUNT.done])\n"
    script.write_text(textwrap.dedent(HEARS + program) + ends)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.splitlines()[-1:] == [str([told, None, 2])], done.stderr
