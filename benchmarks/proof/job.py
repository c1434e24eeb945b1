"""A training job with random legitimate slow saves and random real hangs; started by torchrun.

    torchrun --max-restarts N job.py FOLDER SEED TIMEOUT_S

Each start of the job draws its own misfortune from the seed and the number of the start, so that a
restart is neither spared nor condemned. The work is real (DDP on Gloo) and paced: `STEP_S` a step.
Rank 0 notes in `progress.jsonl` each save that was completed; a start resumes from the last one.

The proportions are those of long trainings, where the limit is ten to thirty minutes and a save
comes once in about as much work: so the work between two saves lasts as long as the limit, and a
restart costs on average half of it.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEP_S = 0.2
LIMITS_PER_SAVE = 1.0
"""Work between two saves, in limits."""
SLOW_SAVES = 0.25
"""Share of saves that last longer than the limit, and are well."""
SLOW_FACTOR = 1.5
"""Of the limit."""
HANGS_PER_LIMIT = 1 / 3
"""Expected hangs in as much work as lasts one limit."""
_CHUNK_S = 0.25


class SlowFile:
    """Storage that takes its time for the first bytes and for every later chunk alike."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._file = path.open("wb")
        self._seconds = seconds

    def write(self, data: bytes) -> int:
        """Write in pieces, spread over the time that is left."""
        pieces = max(1, int(self._seconds / _CHUNK_S))
        for start in range(0, len(data), -(-len(data) // pieces)):
            self._file.write(data[start : start + -(-len(data) // pieces)])
            self._file.flush()
            time.sleep(min(self._seconds, _CHUNK_S))
        self._seconds = 0.0
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def hang(kind: str) -> None:
    """Never come back."""
    if kind == "sleep":
        time.sleep(1e6)
    elif kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "gil":
        ctypes.PyDLL(None).sleep(1_000_000)
    else:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


def save(folder: Path, model: torch.nn.Module, step: int, seconds: float) -> None:
    """Write a checkpoint of some megabytes, for about so long."""
    path = folder / "checkpoint.tmp"
    state = {"step": step, "model": model.state_dict(), "optimizer": torch.zeros(500_000)}
    if seconds:
        file = SlowFile(path, seconds)
        buffer = Path(folder / "checkpoint.raw")
        torch.save(state, buffer)
        file.write(buffer.read_bytes())
        file.close()
    else:
        torch.save(state, path)
    path.rename(folder / "checkpoint.pt")


def main() -> None:
    """Train until somebody ends it."""
    folder, seed, timeout_s = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout_s))
    rank, start = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    luck = random.Random(f"{seed}-{start}")
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = 0
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists():
        step = torch.load(checkpoint, weights_only=True)["step"]
    note(folder, rank, "start", step, start)
    steps_per_limit = timeout_s / STEP_S
    steps_per_save = round(LIMITS_PER_SAVE * steps_per_limit)
    while True:
        hangs = luck.random() < HANGS_PER_LIMIT / steps_per_limit
        who = luck.randrange(dist.get_world_size())
        kind = luck.choice(["sleep", "stop", "gil", "lock"])
        slow = luck.random() < SLOW_SAVES
        optimizer.zero_grad()
        model(torch.ones(8, 64)).square().mean().backward()
        optimizer.step()
        time.sleep(STEP_S)
        step += 1
        if hangs and rank == who:
            note(folder, 0, f"hang-{kind}", step, start)
            hang(kind)
        if step % steps_per_save == 0 and rank == 0:
            seconds = SLOW_FACTOR * timeout_s if slow else 0.0
            note(folder, rank, "slow-save" if slow else "save", step, start)
            save(folder, model, step, seconds)
            note(folder, rank, "saved", step, start)


def note(folder: Path, rank: int, kind: str, step: int, start: int) -> None:
    """One line of the truth, by rank 0 (or whoever hangs)."""
    if rank == 0:
        line = json.dumps({"at": time.time(), "kind": kind, "step": step, "start": start})
        with (folder / "progress.jsonl").open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
