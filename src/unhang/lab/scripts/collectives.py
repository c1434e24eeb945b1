"""Collectives and nothing else: no model, no optimizer, no groups but the default one.

Run it by torchrun. Each round reduces, gathers and broadcasts.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist


def one_round(world: int) -> None:
    """Three calls."""
    numbers = torch.ones(256)
    dist.all_reduce(numbers)
    dist.all_gather([torch.empty(256) for _ in range(world)], numbers)
    dist.broadcast(numbers, src=0)


def main() -> None:
    """Go round and round."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    rounds: int = parser.parse_args().rounds
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    for number in range(rounds):
        one_round(world)
        if rank == 0:
            print(f"[rank0] round {number + 1} of {rounds}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
