"""Plain PyTorch: what to change in the training script itself; the fallback of all others."""

from __future__ import annotations

from unhang.remedies.cures import Cure, Framework
from unhang.remedies.writing import script

_SHARDED_SAVE = """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict

# On every rank, outside of `if rank == 0:`; each rank writes its own shard.
model_state, optimizer_state = get_state_dict(model, optimizer)
dcp.save(
    {"model": model_state, "optimizer": optimizer_state},
    checkpoint_id=f"checkpoints/step-{step}",
)
"""

_SHARDED_SAVE_OLD = """
import torch.distributed.checkpoint as dist_cp
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType

# On every rank, outside of `if rank == 0:`; each rank writes its own shard.
with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
    dist_cp.save_state_dict(
        {"model": model.state_dict()},
        dist_cp.FileSystemWriter(f"checkpoints/step-{step}"),
    )
"""

_ASYNC_SAVE = """
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict

save_group = dist.new_group(backend="gloo")  # once, on every rank, after init_process_group
saving = None

# At every save, on every rank:
if saving is not None:
    saving.result()  # the save before must have ended
model_state, optimizer_state = get_state_dict(model, optimizer)
saving = dcp.async_save(
    {"model": model_state, "optimizer": optimizer_state},
    checkpoint_id=f"checkpoints/step-{step}",
    process_group=save_group,
)
"""

_SMALLER_SAVE = """
# The optimizer's state is two thirds of a checkpoint: keep it in every tenth only.
checkpoint = {"model": model.state_dict(), "step": step}
if step % (10 * save_every) == 0:
    checkpoint["optimizer"] = optimizer.state_dict()
if dist.get_rank() == 0:
    torch.save(checkpoint, f"checkpoints/step-{step}.pt")
"""

_SAVE_RARELY = """
save_every = 2000  # the pause between two saves must be much longer than one save
if step % save_every == 0:
    save_checkpoint(model, optimizer, step)
"""

_SAVE_OFTEN = """
save_every = 200  # a stop then costs at most this many steps
if step % save_every == 0:
    save_checkpoint(model, optimizer, step)
"""

_EVAL_SMALLER = """
import itertools

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

# Every rank evaluates its share, and all of them the same number of batches.
sampler = DistributedSampler(eval_dataset, shuffle=False, drop_last=True)
loader = DataLoader(eval_dataset, batch_size=eval_batch_size, sampler=sampler)
total = torch.zeros(2, device="cuda")
with torch.no_grad():
    for batch in itertools.islice(loader, 100):
        total += torch.stack([compute_loss(model, batch), torch.ones((), device="cuda")])
dist.all_reduce(total)
eval_loss = (total[0] / total[1]).item()
"""

_EVAL_RARELY = """
eval_every = 2000
if step % eval_every == 0:
    evaluate(model)  # on every rank, not under `if rank == 0:`
"""

_PREPARE_DATA = """
# prepare_data.py: run it once, with `python`, before torchrun starts.
from datasets import load_dataset

dataset = load_dataset(source)
dataset = dataset.map(tokenize, batched=True, num_proc=16)
dataset.save_to_disk("/shared/prepared")

# The training script then only maps the finished files:
#     from datasets import load_from_disk
#     dataset = load_from_disk("/shared/prepared")
"""

_FASTER_DATA = """
from torch.utils.data import DataLoader

loader = DataLoader(
    dataset,
    batch_size=batch_size,
    sampler=sampler,
    num_workers=8,  # with `export OMP_NUM_THREADS=4`: torchrun sets it to 1
    persistent_workers=True,
    prefetch_factor=4,
    pin_memory=True,
)
"""

_SMALLER_BATCH = """
import contextlib

micro_batches = 4  # the same effective batch in four parts
for index, part in enumerate(batch.chunk(micro_batches)):
    last = index == micro_batches - 1
    with contextlib.nullcontext() if last else model.no_sync():
        (compute_loss(model, part) / micro_batches).backward()
optimizer.step()
optimizer.zero_grad(set_to_none=True)
"""

_RECOMPUTE = """
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing,
)

apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, Block))
"""

_FEWER_LOADERS = """
from torch.utils.data import DataLoader

# Each worker of each rank holds its own copy of what the data set keeps in memory.
loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler, num_workers=1)
"""

_LEAN_LOAD = """
import torch

# Maps the file in place of reading one copy for each process.
state = torch.load("model.pt", map_location="cpu", mmap=True, weights_only=True)
with torch.device("meta"):
    model = build_model()
model.load_state_dict(state, assign=True)
"""

_EVEN_STEPS = """
import itertools

import torch
import torch.distributed as dist

# All ranks do as many steps as the rank with the fewest batches.
steps = torch.tensor(len(loader), device="cuda")
dist.all_reduce(steps, op=dist.ReduceOp.MIN)
for batch in itertools.islice(loader, int(steps.item())):
    train_step(batch)
"""

_UNUSED = """
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[local_rank], find_unused_parameters=True)

# FSDP and ZeRO-3 need every rank to run the same modules: give an expert without tokens (or a
# batch without images) a dummy input, and add its output times zero to the loss.
"""

_NO_COMPILE = """
import os

os.environ["TORCH_COMPILE_DISABLE"] = "1"  # before `import torch`; only to see whether it helps
"""

FRAMEWORK = Framework(
    name="torch",
    own_loop=True,
    cures={
        Cure.SHARDED_SAVE: (
            *script(_SHARDED_SAVE, since="2.2"),
            *script(_SHARDED_SAVE_OLD, last="2.1"),
        ),
        Cure.ASYNC_SAVE: script(_ASYNC_SAVE, since="2.3"),
        Cure.SMALLER_SAVE: script(_SMALLER_SAVE),
        Cure.SAVE_RARELY: script(_SAVE_RARELY),
        Cure.SAVE_OFTEN: script(_SAVE_OFTEN),
        Cure.EVAL_SMALLER: script(_EVAL_SMALLER),
        Cure.EVAL_RARELY: script(_EVAL_RARELY),
        Cure.PREPARE_DATA: script(_PREPARE_DATA),
        Cure.FASTER_DATA: script(_FASTER_DATA),
        Cure.SMALLER_BATCH: script(_SMALLER_BATCH),
        Cure.RECOMPUTE: script(_RECOMPUTE),
        Cure.FEWER_LOADERS: script(_FEWER_LOADERS),
        Cure.LEAN_LOAD: script(_LEAN_LOAD, since="2.1"),
        Cure.EVEN_STEPS: script(_EVEN_STEPS),
        Cure.UNUSED_PARAMETERS: script(_UNUSED),
        Cure.NO_COMPILE: script(_NO_COMPILE),
    },
)
