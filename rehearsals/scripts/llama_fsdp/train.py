"""Fine-tune a small Llama with LoRA under FSDP: `--fsdp 1` wraps, `2` shards each parameter."""

import argparse
import datetime
import functools
import logging
import os
import pathlib

import numpy as np
import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer


def build_model(fsdp, world):
    """A Llama of 140 thousand parameters of which LoRA trains 1,792."""
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(LlamaForCausalLM(config), lora)
    if fsdp == 1:
        policy = functools.partial(
            transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer}
        )
        cpu = torch.device("cpu")
        return FullyShardedDataParallel(
            model, use_orig_params=True, device_id=cpu, auto_wrap_policy=policy
        )
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.base_model.model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def load_shard(rank, part):
    """Read the tokens of this rank; there are two parts of the data."""
    path = pathlib.Path("data") / f"part-{part}-rank-{rank}.npy"
    logging.info("loading dataset shard %s", path)
    return torch.from_numpy(np.load(path))


def train(options):
    """Six steps; the second part of the data is read after the third."""
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=options.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(message)s")
    torch.manual_seed(0)
    model = build_model(options.fsdp, world)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)
    for step in range(6):
        if step % 3 == 0:
            tokens = load_shard(rank, step // 3)
        batch = tokens[step % 3]
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            logging.info("step %d loss %.3f", step, loss.item())
    dist.barrier()
    if rank == 0:
        print("training finished", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fsdp", type=int, choices=(1, 2), default=1)
    parser.add_argument("--timeout", type=float, default=float(os.environ.get("TIMEOUT_S", "600")))
    train(parser.parse_args())
