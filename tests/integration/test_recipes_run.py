"""The recipes for plain PyTorch run: two ranks on Gloo do what each of them says."""

import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
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


FORKS = """
import json, os, sys, traceback
import torch.distributed.checkpoint.state_dict, torch._dynamo  # which DDP would import

def rank_of(folder, environment):
    child = os.fork()
    if child:
        return child
    os.chdir(folder)
    os.environ.update(environment)
    out = os.open("out" + environment["RANK"], os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 1
    try:
        exec(compile(open("train.py").read(), "train.py", "exec"), {"__name__": "__main__"})
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)

for line in sys.stdin:
    children = [rank_of(**asked) for asked in json.loads(line)]
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children], flush=True)
"""


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    """Has imported torch, which takes seconds, and forks ranks that run `train.py` of a folder."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKS],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("name", ENDS)
def test_two_ranks_run_it(name: str, tmp_path: Path, forks: subprocess.Popen[str]) -> None:
    text = text_of(name).replace("eval_loader", "loader")
    program = SET_UP + textwrap.dedent(text) + f"\n{ENDS[name]}\ndist.barrier()\n"
    (tmp_path / "train.py").write_text(program)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    job = {
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "CUDA_VISIBLE_DEVICES": "",
    }
    ranks = [{"folder": str(tmp_path), "environment": {**job, "RANK": str(n)}} for n in range(2)]
    assert forks.stdin is not None
    assert forks.stdout is not None
    forks.stdin.write(json.dumps(ranks) + "\n")
    forks.stdin.flush()
    codes = json.loads(forks.stdout.readline())
    assert codes == [0, 0], [(tmp_path / f"out{n}").read_text() for n in range(2)]
