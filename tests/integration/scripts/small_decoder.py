"""Trains a small decoder on a few CPU processes and prints what each rank really holds.

Started by torchrun. Each argument is a training, `strategy/method/precision`: strategy (ddp, zero1,
fsdp; of DeepSpeed, in a job of its own: ds-zero1, ds-zero2, ds-zero3), method (full, lora),
precision (fp32, bf16-mixed). A line of JSON tells what one held.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

HIDDEN, WIDTH, LAYERS, HEADS, KV_HEADS, VOCAB, RANK = 384, 1001, 6, 6, 2, 4099, 4
HEAD = HIDDEN // HEADS
SEQ, BATCH = 128, 4


class Norm(nn.Module):
    """The root of the mean square in fp32, as in Llama."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        scaled = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * scaled.to(x.dtype)


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
        self.norm_0, self.norm_1 = Norm(), Norm()

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
        self.norm = Norm()
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


def size(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes of this rank's parts."""
    return sum(local(t).numel() * t.element_size() for t in tensors)


def resident(field: str) -> int:
    """Bytes of this process that Linux holds in memory now (VmRSS), or held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def sharded(model: Decoder, precision: str) -> nn.Module:
    """FSDP2, each layer a unit of its own."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mixed = torch.bfloat16 if precision == "bf16-mixed" else None
    policy = MixedPrecisionPolicy(param_dtype=mixed)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    return fully_shard(model, mp_policy=policy)


class Job:
    """A model as a strategy wraps it, what is trained of it, and its optimizer."""

    def __init__(self, strategy: str, model: Decoder, precision: str) -> None:
        self.model: nn.Module = model
        if strategy == "fsdp":
            self.model = sharded(model, precision)
        elif strategy in ("ddp", "zero1"):
            self.model = nn.parallel.DistributedDataParallel(model)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer: torch.optim.Optimizer
        if strategy == "zero1":
            from torch.distributed.optim import ZeroRedundancyOptimizer

            self.optimizer = ZeroRedundancyOptimizer(self.trained, torch.optim.AdamW)
        else:
            self.optimizer = torch.optim.AdamW(self.trained)
        casts = precision == "bf16-mixed" and strategy != "fsdp"
        self.autocast = torch.autocast("cpu", torch.bfloat16, enabled=casts)

    def micro_batch(self, ids: torch.Tensor) -> None:
        """Gradients are kept from one to the next, as they are where they accumulate."""
        with self.autocast:
            logits = self.model(ids)
        loss_of(logits, ids).backward()

    def step(self) -> None:
        """Change the weights."""
        self.optimizer.step()

    def held(self) -> dict[str, int]:
        """Bytes by kind of state."""
        state = getattr(self.optimizer, "optim", self.optimizer).state
        states = [v for s in state.values() for k, v in s.items() if k != "step"]
        gradients = [p.grad for p in self.trained if p.grad is not None]
        kinds = {"weights": self.model.parameters(), "gradients": gradients, "optimizer": states}
        return {name: size(tensors) for name, tensors in kinds.items()}


class DeepSpeedJob:
    """The same under DeepSpeed: weights in bf16, their copy and the states in fp32."""

    def __init__(self, stage: int, model: Decoder) -> None:
        import deepspeed

        trained = [p for p in model.parameters() if p.requires_grad]
        self.stage = stage
        self.engine, *_ = deepspeed.initialize(
            model=model,
            optimizer=torch.optim.AdamW(trained),
            config={
                "train_micro_batch_size_per_gpu": BATCH,
                "gradient_accumulation_steps": 2,
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": stage},
                "zero_allow_untested_optimizer": True,
                "zero_force_ds_cpu_optimizer": False,
            },
        )

    def micro_batch(self, ids: torch.Tensor) -> None:
        """DeepSpeed steps by itself after every second one."""
        self.engine.backward(loss_of(self.engine(ids), ids))

    def step(self) -> None:
        """Change the weights, if it is time."""
        self.engine.step()

    def held(self) -> dict[str, int]:
        """Bytes by kind of state, from the fields of ZeRO's optimizers."""
        zero = self.engine.optimizer
        states = [v for s in zero.optimizer.state.values() for k, v in s.items() if k != "step"]
        if self.stage == 3:
            weights = [p.ds_tensor for p in self.engine.parameters()]
            masters = zero.fp32_partitioned_groups_flat
        else:
            weights, masters = zero.bit16_groups_flat, zero.single_partition_of_fp32_groups
        gradients = [g for of in zero.averaged_gradients.values() for g in of or ()]
        gradients += [p.grad for p in self.engine.parameters() if p.grad is not None]
        kinds = {"weights": weights, "gradients": gradients, "optimizer": [*states, *masters]}
        return {name: size(tensors) for name, tensors in kinds.items()}


def loss_of(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Cross entropy in fp32."""
    return functional.cross_entropy(logits.float().view(-1, VOCAB), ids.view(-1))


def main() -> None:
    """Take a step and two micro-batches more, twice, and print what the fullest rank holds."""
    trainings = [argument.split("/") for argument in sys.argv[1:]]
    if any(strategy.startswith("ds-") for strategy, _, _ in trainings):
        import deepspeed

        # its transport through shared memory would be compiled first, and holds no state
        sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None
        deepspeed.init_distributed("gloo")
    else:
        dist.init_process_group("gloo")
    for training in trainings:
        torch.manual_seed(0)
        train(*training)  # imports, thread pools and the first communication
        gc.collect()
        mine = torch.tensor(list(train(*training).values()))
        gc.collect()
        dist.all_reduce(mine, dist.ReduceOp.MAX)
        if dist.get_rank() == 0:
            names = ("weights", "gradients", "optimizer", "peak")
            print(json.dumps(dict(zip(names, map(int, mine), strict=True))))
    dist.destroy_process_group()


def train(strategy: str, method: str, precision: str) -> dict[str, int]:
    """Bytes by kind of state, and of all at the peak of the last micro-batch of a step."""
    before = resident("VmRSS")
    bare = Decoder(method)
    if method == "lora" and precision == "bf16-mixed":
        for parameter in bare.parameters():
            if not parameter.requires_grad:
                parameter.data = parameter.data.bfloat16()
    of_deepspeed = strategy.startswith("ds-")
    job = DeepSpeedJob(int(strategy[-1]), bare) if of_deepspeed else Job(strategy, bare, precision)
    ids = torch.randint(0, VOCAB, (BATCH, SEQ))
    job.micro_batch(ids)
    if of_deepspeed:
        job.step()
        job.micro_batch(ids)
    job.step()
    job.micro_batch(ids)
    if of_deepspeed:
        job.step()
    earlier = job.held()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    job.micro_batch(ids)
    peak = resident("VmHWM") - before
    return {**{name: max(n, earlier[name]) for name, n in job.held().items()}, "peak": peak}


if __name__ == "__main__":
    main()
