"""Trains a small decoder on a few CPU processes and prints what each rank really holds.

Started by torchrun. Arguments: trainings to run one after the other, each a strategy (ddp, zero1,
fsdp) and a method (full, lora), as in `fsdp:lora`.
"""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

HIDDEN, WIDTH, LAYERS, HEADS, KV_HEADS, VOCAB, RANK = 96, 200, 3, 6, 2, 517, 4
HEAD = HIDDEN // HEADS
SEQ, BATCH = 64, 2


class Adapted(nn.Linear):
    """A frozen matrix with LoRA's A and B beside it."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(columns, rows, bias=False)
        self.weight.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(RANK, columns) / columns)
        self.b = nn.Parameter(torch.zeros(rows, RANK))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + functional.linear(functional.linear(x, self.a), self.b)


class Layer(nn.Module):
    """Grouped-query attention and a gated MLP, as in Llama."""

    def __init__(self, method: str) -> None:
        super().__init__()
        adapted = method == "lora"
        plain = lambda rows, columns: nn.Linear(columns, rows, bias=False)  # noqa: E731
        target = Adapted if adapted else plain
        self.q_proj = target(HEADS * HEAD, HIDDEN)
        self.k_proj = plain(KV_HEADS * HEAD, HIDDEN)
        self.v_proj = target(KV_HEADS * HEAD, HIDDEN)
        self.o_proj = plain(HIDDEN, HEADS * HEAD)
        self.gate_proj, self.up_proj = plain(WIDTH, HIDDEN), plain(WIDTH, HIDDEN)
        self.down_proj = plain(HIDDEN, WIDTH)
        self.norm_0, self.norm_1 = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm_0(x)
        split = lambda z, n: z.view(*z.shape[:2], n, HEAD).transpose(1, 2)  # noqa: E731
        q, k, v = (
            split(self.q_proj(y), HEADS),
            split(self.k_proj(y), KV_HEADS),
            split(self.v_proj(y), KV_HEADS),
        )
        z = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o_proj(z.transpose(1, 2).reshape(*x.shape))
        y = self.norm_1(x)
        return x + self.down_proj(functional.silu(self.gate_proj(y)) * self.up_proj(y))


class Decoder(nn.Module):
    """The whole model."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList(Layer(method) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN)
        self.lm_head = nn.Linear(HIDDEN, VOCAB, bias=False)
        if method == "lora":
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(name.rsplit(".", 1)[-1] in {"a", "b"})

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a sharded tensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def size(tensors: list[torch.Tensor]) -> int:
    """Bytes of this rank's parts."""
    return sum(local(t).numel() * t.element_size() for t in tensors)


def main() -> None:
    """Run the trainings that the command line names."""
    dist.init_process_group("gloo")
    for training in sys.argv[1:]:
        train(*training.split(":"))
    dist.destroy_process_group()


def train(strategy: str, method: str) -> None:
    """Take one step and print the sizes of rank 0."""
    torch.manual_seed(0)
    model: nn.Module = Decoder(method)
    parameters = sum(p.numel() for p in model.parameters())
    if strategy == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    elif strategy in ("ddp", "zero1"):
        model = nn.parallel.DistributedDataParallel(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer: torch.optim.Optimizer
    if strategy == "zero1":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        optimizer = ZeroRedundancyOptimizer(trained, torch.optim.AdamW)
    else:
        optimizer = torch.optim.AdamW(trained)
    ids = torch.randint(0, VOCAB, (BATCH, SEQ))
    logits = model(ids)
    functional.cross_entropy(logits.view(-1, VOCAB), ids.view(-1)).backward()
    gradients = size([p.grad for p in trained if p.grad is not None])
    optimizer.step()
    state = getattr(optimizer, "optim", optimizer).state
    states = [v for s in state.values() for k, v in s.items() if k != "step"]
    mine = torch.tensor([size(list(model.parameters())), gradients, size(states)])
    dist.all_reduce(mine, dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        weights, gradients, kept = (int(n) for n in mine)
        result = {"parameters": parameters, "weights": weights}
        print(json.dumps({**result, "gradients": gradients, "optimizer": kept}))


if __name__ == "__main__":
    main()
