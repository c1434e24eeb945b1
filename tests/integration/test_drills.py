"""Drills end to end: a real job fails as declared, is judged right, and leaves nothing behind."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.needs import NEEDS_TORCH
from unhang.lab.drills import find_drill
from unhang.lab.leftovers import LeftBehind
from unhang.lab.machine import missing
from unhang.lab.running import run_drill
from unhang.lab.scoring import Mark, judge_drill
from unhang.lab.surroundings import free_port
from unhang.lab.truth import Truth

pytestmark = [pytest.mark.integration, NEEDS_TORCH]

FAST = ("sleep", "stopped", "wrong-size", "slow-save", "cut-link")
MINE = """
    import os, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(6):
        model(torch.randn(2, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print("step", step, "loss 0.1", flush=True)
    dist.destroy_process_group()
"""


def run(name: str, folder: Path, *command: str) -> Truth:
    """Run a drill, and see that nothing of it lives on."""
    drill = find_drill(name)
    if missing(drill.needs):
        pytest.skip(f"this machine lacks {', '.join(n.value for n in missing(drill.needs))}")
    with LeftBehind(folder) as left:
        truth = run_drill(drill, folder, command=command, limit_s=6)
    assert left.names() == []
    assert sorted(path.name for path in folder.iterdir()) == [
        *("dumps", "logs", "stacks", "truth.json")
    ]
    return truth


@pytest.mark.parametrize("name", FAST)
def test_a_fault_is_judged_right(name: str, tmp_path: Path) -> None:
    truth = run(name, tmp_path / "drill")
    assert truth.at is not None
    assert truth.exit_code != 0
    logs, everything = judge_drill(tmp_path / "drill").judged
    assert logs.mark is not Mark.WRONG, logs
    assert everything.mark is Mark.RIGHT, everything


def test_a_fault_in_a_script_of_the_users_own(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(textwrap.dedent(MINE), encoding="utf-8")
    launcher = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "3")
    port = ("--master-port", str(free_port()))
    truth = run("exception", tmp_path / "drill", *launcher, *port, str(script))
    assert truth.world_size == 3
    (judged, *_) = judge_drill(tmp_path / "drill").judged
    assert (judged.said, judged.culprits) == ("rank_exception", "2")


def test_the_command_line(tmp_path: Path) -> None:
    folder = str(tmp_path / "drill")
    command = [sys.executable, "-m", "unhang", "drill"]
    done = subprocess.run(
        [*command, "run", "exception", "--out", folder, "--limit", "6"],
        env={**os.environ, "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "the fault happened at" in done.stdout
    judged = subprocess.run(
        [*command, "judge", folder, "--exit-code"], capture_output=True, text=True, check=False
    )
    assert (judged.returncode, judged.stderr) == (0, "")
    assert "right" in judged.stdout
