"""The recipes for plain PyTorch run: two ranks on Gloo do what each of them says."""

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from unhang.model.causes import Cause
from unhang.model.incident import Incident
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure
from unhang.remedies.general import GENERAL
from unhang.settings import frameworks

pytestmark = pytest.mark.integration

SET_UP = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, device, step, local_rank = dist.get_rank(), torch.device("cpu"), 3, 0
torch.manual_seed(0)
model = DDP(torch.nn.Linear(4, 2))
optimizer = torch.optim.AdamW(model.parameters())
steps_done = 0


def compute_loss(module, batch):
    return module(batch).square().mean()


def train_step(batch):
    global steps_done
    optimizer.zero_grad()
    compute_loss(model, batch).backward()
    optimizer.step()
    steps_done += 1


def evaluate(module):
    assert not isinstance(module, DDP)
    with torch.no_grad():
        compute_loss(module, torch.ones(2, 4))


optimizer.zero_grad()
compute_loss(model, torch.ones(2, 4)).backward()
optimizer.step()
eval_dataset, eval_batch_size = [torch.ones(4)] * 8, 2
loader = [torch.ones(2, 4)] * (3 + 2 * rank)  # rank 1 has two batches more
batch = torch.ones(8, 4)
"""

ENDS = {
    "even_steps:0": "assert steps_done == 3 + 2 * rank",
    "even_steps:1": "assert steps_done == 3",
    "sharded_save:0": "assert os.path.isdir('checkpoints/step-3')",
    "async_save:0": "assert os.path.isdir('checkpoints/step-3')",
    "eval_smaller:0": "assert eval_loss >= 0",
    "eval_less_memory:0": "",
    "smaller_batch:0": "",
    "rank0_work:0": "",
}


def text_of(name: str) -> str:
    cure, _, number = name.partition(":")
    if cure == "rank0_work":
        case = RemedyContext(cause=Cause.EVAL_SLOW, incident=Incident())
        recipe = GENERAL[Cure.RANK0_WORK](case)
        assert recipe is not None
        return recipe.text
    return frameworks()["torch"].recipes[cure][int(number)].text


@pytest.mark.parametrize("name", ENDS)
def test_two_ranks_run_it(name: str, tmp_path: Path) -> None:
    text = text_of(name).replace("eval_loader", "loader")
    program = SET_UP + textwrap.dedent(text) + f"\n{ENDS[name]}\ndist.barrier()\n"
    (tmp_path / "train.py").write_text(program)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = [
        subprocess.Popen(
            [sys.executable, "train.py"],
            cwd=tmp_path,
            env={
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "CUDA_VISIBLE_DEVICES": "",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    told = [rank.communicate(timeout=240)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], told
