"""Set `unhang plan` beside others' estimators and real trainings: writes docs/planning-peers.md.

Needs torch, transformers, accelerate and DeepSpeed (any build), and for Megatron-LM its file
`megatron/training/theoretical_memory_usage.py`:

    python tools/peers.py --megatron FILE --runs RUNS.json --write docs/planning-peers.md

Trainings take a minute each; RUNS.json keeps what was measured, and is read where it exists.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unhang.architectures import Architecture, find_model, from_config
from unhang.architectures.tables import table
from unhang.model.plan import Method, Precision, Strategy
from unhang.planning import PlanRequest, make_plan

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests" / "integration" / "scripts" / "small_decoder.py"
MODELS = ("llama-3-8b", "qwen2.5-1.5b", "qwen2.5-7b", "llama-3-70b")
GPUS = 8
STATE = ("weights", "gradients", "optimizer")
SMALL: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_size": 384,
    "intermediate_size": 1001,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "vocab_size": 4099,
}
TRAININGS = (
    ("ddp", "full", "fp32"),
    ("ddp", "lora", "bf16-mixed"),
    ("fsdp", "full", "fp32"),
    ("fsdp", "full", "bf16-mixed"),
    ("fsdp", "lora", "fp32"),
    ("fsdp", "lora", "bf16-mixed"),
    ("ds-zero1", "full", "bf16-master"),
    ("ds-zero2", "full", "bf16-master"),
    ("ds-zero3", "full", "bf16-master"),
)


def main() -> int:
    """Write the page."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--megatron", type=Path, required=True)
    reader.add_argument("--runs", type=Path, required=True)
    reader.add_argument("--write", type=Path, required=True)
    reader.add_argument("--measured-only", action="store_true", help="start no training")
    asked = reader.parse_args()
    asked.write.write_text("\n".join(page(asked)) + "\n", encoding="utf-8")
    return 0


def page(asked: argparse.Namespace) -> Iterator[str]:
    """Lines of Markdown."""
    yield "# Plans beside other estimators and real trainings"
    yield ""
    yield "Written by `tools/peers.py`. Bytes of one GPU."
    yield ""
    yield "## Estimators"
    yield ""
    yield (
        f"Weights, gradients and Adam; accelerate {version('accelerate')}, one GPU, fp32; DeepSpeed"
        f" {version('deepspeed')}, {GPUS} GPUs, bf16, `additional_buffer_factor=1`; Megatron-LM's"
        f" `theoretical_memory_usage.py`, {GPUS} GPUs, tensor parallel 2, distributed optimizer."
    )
    yield ""
    yield "| Model | Estimator | theirs | plan | plan / theirs |"
    yield "|---|---|---:|---:|---:|"
    for name in MODELS:
        model = find_model(name)
        assert model is not None
        for whose, theirs, ours in beside(name, model, asked.megatron):
            yield f"| {model.name} | {whose} | {theirs:,} | {ours:,} | {ours / theirs:.3f} |"
    yield ""
    yield (
        "accelerate counts a buffer of a few hundred bytes that is not a parameter. DeepSpeed takes"
        " 18 bytes for a sharded parameter where the plan takes 16: it adds gradients in fp32; for"
        " ZeRO-3 it adds the largest layer, which the plan lists apart. Megatron sums gradients up"
        " in fp32, as the plan does with `--fp32-gradients`: 6 + 12 / ranks for each parameter."
    )
    yield ""
    yield "## Real trainings"
    yield ""
    yield (
        "A decoder of 12.4 million parameters, two CPU processes, 512 tokens a micro-batch, PyTorch"
        f" {version('torch')}. State: weights, gradients and optimizer, counted in the processes."
        " Peak: what Linux holds in memory for the fullest process beyond what it held before"
        " (VmHWM), in the last micro-batch of a step; the plan without its reserve for CUDA."
    )
    yield ""
    yield "| Strategy | Method | Types | state, real | plan | peak, real | plan | plan / real |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for key, real in measured(asked.runs, start=not asked.measured_only).items():
        strategy, method, precision = key.split()
        planned = amounts(strategy, method, precision)
        state, kept = (sum(of[what] for what in STATE) for of in (real, planned))
        total = sum(planned.values())
        yield (
            f"| {strategy.replace('ds-', 'DeepSpeed ')} | {method} | {precision} | {state:,} |"
            f" {kept:,} | {real['peak']:,} | {total:,} | {total / real['peak']:.2f} |"
        )


def beside(name: str, model: Architecture, megatron: Path) -> Iterator[tuple[str, int, int]]:
    """Whose estimate, it, and the plan's for the same."""
    from deepspeed.runtime.zero.stage3 import (
        estimate_zero3_model_states_mem_needs,
    )
    from deepspeed.runtime.zero.stage_1_and_2 import (
        estimate_zero2_model_states_mem_needs,
    )

    yield "accelerate", of_accelerate(name), state_of(model, 1, Strategy.DDP, Precision.FP32)
    shape = {"num_gpus_per_node": GPUS, "num_nodes": 1, "cpu_offload": False}
    _, two = estimate_zero2_model_states_mem_needs(
        model.parameters, additional_buffer_factor=1, **shape
    )
    mastered = Precision.BF16_MASTER
    yield "DeepSpeed ZeRO-2", int(two), state_of(model, GPUS, Strategy.ZERO2, mastered)
    largest = max(tensor.numel for _, tensor in model.tensors())
    _, three, _ = estimate_zero3_model_states_mem_needs(
        model.parameters, largest, cpu_offload_params=False, additional_buffer_factor=1, **shape
    )
    yield "DeepSpeed ZeRO-3", int(three), state_of(model, GPUS, Strategy.ZERO3, mastered)
    yield (
        "Megatron-LM",
        of_megatron(name, megatron),
        state_of(model, GPUS, Strategy.ZERO1, mastered, tensor_parallel=2, fp32_gradients=True),
    )


def state_of(
    model: Architecture, world: int, strategy: Strategy, precision: Precision, **more: int
) -> int:
    """Bytes of weights, gradients and optimizer as planned."""
    request = PlanRequest(model=model, world=world, strategy=strategy, precision=precision, **more)  # type: ignore[arg-type]
    return sum(a.size_bytes for a in make_plan(request).gpu.amounts if a.what in STATE)


def of_accelerate(name: str) -> int:
    """Four times the weights, as `accelerate estimate-memory` says for Adam."""
    import torch
    from accelerate.utils import calculate_maximum_sizes
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = dict(table("models")[name]["config"])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    total, _ = calculate_maximum_sizes(model)
    return int(total) * 4


def of_megatron(name: str, file: Path) -> int:
    """The function of Megatron-LM, loaded from its file without the rest."""
    package = types.ModuleType("theory")
    package.__path__ = []
    helpers = types.ModuleType("theory.utils")
    helpers.__dict__.update(is_hybrid_model=lambda _: False, print_rank_0=print)
    sys.modules |= {"theory": package, "theory.utils": helpers}
    spec = importlib.util.spec_from_file_location("theory.memory", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    c = table("models")[name]["config"]
    heads = c["num_attention_heads"]
    args = types.SimpleNamespace(
        hidden_size=c["hidden_size"], num_layers=c["num_hidden_layers"],
        num_attention_heads=heads, num_query_groups=c["num_key_value_heads"],
        group_query_attention=True, kv_channels=c["hidden_size"] // heads,
        ffn_hidden_size=c["intermediate_size"], padded_vocab_size=c["vocab_size"],
        untie_embeddings_and_output_weights=not c.get("tie_word_embeddings", False),
        swiglu=True, normalization="RMSNorm", num_experts=None,
        moe_shared_expert_intermediate_size=None, moe_latent_size=None, mtp_num_layers=None,
        multi_latent_attention=False, moe_layer_freq=1, add_bias_linear=False,
        tensor_model_parallel_size=2, pipeline_model_parallel_size=1,
        expert_tensor_parallel_size=2, expert_model_parallel_size=1, world_size=GPUS,
        data_parallel_size=GPUS // 2, use_distributed_optimizer=True,
    )  # fmt: skip
    return int(module.compute_weight_and_optimizer_memory(args))


def amounts(strategy: str, method: str, precision: str) -> dict[str, int]:
    """What is planned for one of the trainings."""
    request = PlanRequest(
        model=from_config(SMALL), world=2, strategy=Strategy(strategy.removeprefix("ds-")),
        method=Method(method), precision=Precision(precision), lora_rank=4, seq=128, batch=4,
    )  # fmt: skip
    found = {a.what: a.size_bytes for a in make_plan(request).gpu.amounts}
    del found["reserve"]
    return found


def measured(file: Path, *, start: bool) -> dict[str, dict[str, int]]:
    """What each training held, measured now where the file does not tell."""
    known: dict[str, dict[str, int]] = json.loads(file.read_text()) if file.exists() else {}
    for training in TRAININGS:
        key = " ".join(training)
        if start and key not in known:
            (known[key],) = train(training)
            file.write_text(json.dumps(known, indent=1))
    return {key: known[key] for key in map(" ".join, TRAININGS) if key in known}


def train(*trainings: tuple[str, str, str]) -> list[dict[str, int]]:
    """Run them with torchrun, one after the other in one job; DeepSpeed's not beside others."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    alone = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [*command, str(SCRIPT), *map("/".join, trainings)],
        capture_output=True, text=True, timeout=1_500, check=True, env={**os.environ, **alone},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    sys.exit(main())
