"""A pipeline of one stage for each rank: activations go forth, gradients come back.

Run it by torchrun. Stages talk to their neighbours alone, by `send` and `recv`; after each step all
average the loss.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist

WIDTH, ROWS = 32, 8


def forth(stage: torch.nn.Module, rank: int, world: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What comes in, and what this stage makes of it; `(rows, width)` both."""
    given = torch.randn(ROWS, WIDTH)
    if rank > 0:
        dist.recv(given, rank - 1)
    given.requires_grad_()
    made = stage(given)
    if rank < world - 1:
        dist.send(made.detach(), rank + 1)
    return given, made


def back(given: torch.Tensor, made: torch.Tensor, rank: int, world: int) -> torch.Tensor:
    """The gradient goes back through this stage; the loss, on the last one."""
    loss = made.square().mean()
    if rank == world - 1:
        torch.autograd.backward(loss)
    else:
        gradient = torch.empty(ROWS, WIDTH)
        dist.recv(gradient, rank + 1)
        torch.autograd.backward(made, gradient)
    if rank > 0 and given.grad is not None:
        dist.send(given.grad, rank - 1)
    return loss.detach()


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    steps: int = parser.parse_args().steps
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    stage = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())
    optimizer = torch.optim.SGD(stage.parameters(), 0.1)
    for step in range(steps):
        given, made = forth(stage, rank, world)
        optimizer.zero_grad()
        loss = back(given, made, rank, world)
        optimizer.step()
        dist.all_reduce(loss)
        if rank == 0:
            print(f"[rank0] step {step + 1} loss {loss.item() / world:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
