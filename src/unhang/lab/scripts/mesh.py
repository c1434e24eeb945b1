"""Tensor parallelism within rows of a mesh of 2 x 2 ranks, data parallelism along its columns.

Run it by torchrun. Each step sums the halves of a layer within a row, then averages the gradients
along a column; the groups of the mesh are the only ones that it uses.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

WIDTH, ROWS = 32, 8


def train_step(layer: torch.nn.Linear, mesh: DeviceMesh, optimizer: torch.optim.Optimizer) -> float:
    """One step; the loss."""
    half = layer(torch.randn(ROWS, WIDTH))
    whole = half.detach().clone()
    dist.all_reduce(whole, group=mesh.get_group("tp"))
    loss = (half + whole).square().mean()
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    gradient = layer.weight.grad
    assert gradient is not None
    dist.all_reduce(gradient, group=mesh.get_group("dp"))
    optimizer.step()
    return float(loss)


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    steps: int = parser.parse_args().steps
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    layer = torch.nn.Linear(WIDTH, WIDTH)
    optimizer = torch.optim.SGD(layer.parameters(), 0.01)
    for step in range(steps):
        loss = train_step(layer, mesh, optimizer)
        if dist.get_rank() == 0:
            print(f"[rank0] step {step + 1} loss {loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
