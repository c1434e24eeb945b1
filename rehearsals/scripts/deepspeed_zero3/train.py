"""Train a small Llama with DeepSpeed ZeRO-3, and save its 16-bit weights after the third step."""

import argparse
import datetime

import deepspeed
import torch
import torch.distributed as dist
from transformers import LlamaConfig, LlamaForCausalLM


def build_engine():
    """The model under ZeRO-3."""
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    return deepspeed.initialize(model=model, optimizer=optimizer, config="ds_config.json")[0]


def train(options):
    """Six steps, one save."""
    deepspeed.init_distributed(
        dist_backend="gloo", timeout=datetime.timedelta(seconds=options.timeout)
    )
    torch.manual_seed(0)
    engine = build_engine()
    for step in range(6):
        tokens = torch.randint(0, 512, (2, 16))
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
        if step == 2:
            engine.save_16bit_model("weights")
    dist.barrier()
    if dist.get_rank() == 0:
        print("training finished", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=1800.0)
    train(parser.parse_args())
