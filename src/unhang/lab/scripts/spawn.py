"""Starts a training script on several ranks without a launcher: `torch.multiprocessing.spawn`.

python spawn.py WORLD_SIZE PORT train.py …
"""

from __future__ import annotations

import os
import runpy
import sys

from torch.multiprocessing.spawn import spawn


def work(rank: int, world_size: int, port: str, command: list[str]) -> None:
    """Be one rank."""
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(world_size),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=port,
    )
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


def main() -> None:
    """Start all ranks and wait for them."""
    world_size, port, *command = sys.argv[1:]
    size = int(world_size)
    spawn(work, (size, port, command), nprocs=size)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
