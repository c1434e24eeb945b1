"""What to change first where memory does not suffice: each change is planned anew and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.model.plan import Change, Method, Precision, Strategy
from unhang.model.provenance import Message, say
from unhang.planning.memory import of_gpu
from unhang.planning.request import PlanRequest

_LARGEST_WORLD = 4096


def changes(request: PlanRequest) -> Iterator[Change]:
    """Yield changes by what they cost: first those that keep the result, then those that do not."""
    before = of_gpu(request).total_bytes
    for what, changed in _options(request):
        after = of_gpu(changed)
        if after.total_bytes < before:
            yield Change(
                what=what,
                gpu_bytes=after.total_bytes,
                fits=bool(after.fits),
            )


def _options(request: PlanRequest) -> Iterator[tuple[Message, PlanRequest]]:
    if not request.flash:
        yield (
            say(
                "plan.change_flash",
                "Compute attention without writing its scores (SDPA or FlashAttention).",
            ),
            replace(request, flash=True),
        )
    if request.model.towers and request.data_parallel > 1 and not request.local_loss:
        yield (
            say(
                "plan.change_local_loss",
                "Compare each rank's own samples with all: --local-loss --gather-with-grad.",
            ),
            replace(request, local_loss=True),
        )
    if request.batch > 1 and not request.model.towers:  # whose loss needs the whole batch
        yield (
            say(
                "plan.change_batch",
                "One sample for each micro-batch; accumulate gradients for the same total.",
            ),
            replace(request, batch=1),
        )
    if request.recompute == "none" and (request.model.towers or request.seq is not None):
        yield (
            say(
                "plan.change_recompute",
                "Recompute activations in the backward pass: about a third more compute.",
            ),
            replace(request, recompute="full"),
        )
    if request.data_parallel > 1 and not request.shards_weights:
        yield (
            say("plan.change_shard", "Shard the model's state over all data-parallel ranks."),
            replace(request, strategy=Strategy.FSDP),
        )
    more = _enough_gpus(request)
    if more is not None:
        yield say("plan.change_gpus", "Run on {to} GPUs.", to=more.world), more
    if request.optimizer == "adamw":
        yield (
            say("plan.change_optimizer", "Keep the optimizer's states in 8 bits (bitsandbytes)."),
            replace(request, optimizer="adamw-8bit"),
        )
    if request.precision is Precision.FP32:
        yield (
            say("plan.change_precision", "Compute in bf16."),
            replace(request, precision=Precision.BF16_MIXED),
        )
    if request.method is Method.FULL:
        yield (
            say("plan.change_lora", "Train adapters (LoRA) instead of all weights."),
            replace(request, method=Method.LORA),
        )
    elif request.method is Method.LORA:
        yield (
            say("plan.change_qlora", "Quantise the frozen weights to 4 bits (QLoRA)."),
            replace(request, method=Method.QLORA),
        )


def _enough_gpus(request: PlanRequest) -> PlanRequest | None:
    """The smallest number of GPUs, by doubling, over which the model's state fits."""
    if request.strategy is Strategy.DDP or request.gpu_memory is None:
        return None
    larger = request
    while larger.world < _LARGEST_WORLD:
        larger = replace(larger, world=larger.world * 2)
        if of_gpu(larger).fits:
            return larger
    return None
