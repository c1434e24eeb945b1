"""`unhang plan MODEL`: memory, checkpoints and time limits before the job starts."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

import click

from unhang.commands.output import Target, with_form, with_target
from unhang.model.plan import Method, Offload, Precision, SaveStyle, Strategy
from unhang.planning.request import OPTIMIZERS, RECOMPUTE


def _of(kind: type[Enum]) -> click.Choice[str]:
    """The values of an enumeration, as an option takes them."""
    return click.Choice([str(member.value) for member in kind])


@click.command(name="plan")
@click.argument("model", required=False)
@click.option(
    "--from", "sources", multiple=True, metavar="PATH",
    help="Read the rest from a framework's configuration, a verdict, a check or a run folder.",
)  # fmt: skip
@click.option("--gpus", "world", type=int, metavar="N", help="GPUs of the job.")
@click.option("--gpus-per-host", type=int, metavar="N", help="GPUs of one host (8).")
@click.option("--gpu-memory", metavar="SIZE", help="Memory of one GPU, such as 80GB.")
@click.option("--host-memory", metavar="SIZE", help="Memory of one host, such as 1TB.")
@click.option("--strategy", type=_of(Strategy), help="How the training state is sharded (fsdp).")
@click.option("--tp", "tensor_parallel", type=int, metavar="N", help="Tensor parallel degree.")
@click.option("--pp", "pipeline_parallel", type=int, metavar="N", help="Pipeline parallel degree.")
@click.option("--ep", "expert_parallel", type=int, metavar="N", help="Expert parallel degree.")
@click.option("--cp", "context_parallel", type=int, metavar="N", help="Context parallel degree.")
@click.option("--method", type=_of(Method), help="Which weights are trained.")
@click.option("--lora-rank", type=int, metavar="R", help="Rank of the adapters (16).")
@click.option("--lora-targets", metavar="NAMES", help="Adapted matrices (q_proj,v_proj).")
@click.option("--precision", type=_of(Precision), help="Data types of weights and computation.")
@click.option("--offload", type=_of(Offload), help="What is kept in host memory (none).")
@click.option("--optimizer", type=click.Choice(list(OPTIMIZERS)), help="Optimizer (adamw).")
@click.option("--seq", metavar="TOKENS", help="Tokens of one sample, such as 4096 or 8k.")
@click.option("--batch", type=int, metavar="N", help="Samples per rank and micro-batch (1).")
@click.option("--recompute", type=click.Choice(RECOMPUTE), help="Activation checkpointing.")
@click.option("--fp32-gradients", is_flag=True, help="Gradients are summed up in fp32.")
@click.option("--eager-attention", is_flag=True, help="Attention keeps its scores in memory.")
@click.option("--fused-loss", is_flag=True, help="Logits are never whole (Liger, CCE).")
@click.option("--local-loss", is_flag=True, help="CLIP: each rank compares its own samples.")
@click.option("--reserve", metavar="SIZE", help="Memory for CUDA, NCCL and fragmentation (1.5GB).")
@click.option("--write-speed", metavar="SPEED", help="Write speed of one process, such as 1GB/s.")
@click.option("--write-speed-total", metavar="SPEED", help="Write speed of all processes together.")
@click.option("--gather-speed", metavar="SPEED", help="Speed of a gather on rank 0 (10GB/s).")
@click.option("--copy-speed", metavar="SPEED", help="Speed of a copy to host memory (1GB/s).")
@click.option("--storage", metavar="DIR", help="Measure the speeds of saving in this folder.")
@click.option(
    "--save", "save_style", type=_of(SaveStyle),
    help="How checkpoints are saved.",
)  # fmt: skip
@click.option("--weights-only", is_flag=True, help="Checkpoints hold no optimizer state.")
@click.option("--data", "data_bytes", metavar="SIZE", help="Data that each process loads entirely.")
@click.option("--sample", "sample_bytes", metavar="SIZE", help="Size of one loaded sample.")
@click.option("--workers", type=int, metavar="N", help="Data loader workers of each rank.")
@click.option(
    "--eval", "eval_s", metavar="TIME", help="Time of evaluation on rank 0 alone (20min)."
)
@click.option("--prepare", "prepare_s", metavar="TIME", help="Time of preparation on rank 0 alone.")
@click.option("--framework", metavar="NAME[==VERSION]", help="Framework to write settings for.")
@with_form("terminal", "json", "markdown", "html", prints="the plan")
@with_target
def command(
    *,
    model: str | None,
    sources: tuple[str, ...],
    form: str,
    to: Target,
    **options: Any,  # noqa: ANN401 - passed on to `unhang.planning`, which knows their types
) -> int:
    """Compute memory, checkpoints and time limits before the job starts.

    MODEL is a known name (llama-3-8b, Qwen/Qwen2.5-7B), a config.json, a .safetensors or .gguf
    file, a folder with one of them, or a number of parameters (7B). Without MODEL, a file given
    with --from must name it.
    """
    from unhang.api import plan
    from unhang.reporters.plan import render_plan

    given = {
        name: value for name, value in options.items() if value is not None and value is not False
    }
    if given.pop("eager_attention", False):
        given["flash"] = False
    if given.pop("weights_only", False):
        given["save_optimizer"] = False
    result = plan(model, sources=sources, **given)
    to.write(partial(render_plan, result, form))
    return 0
