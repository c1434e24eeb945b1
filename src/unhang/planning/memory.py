"""From a request to the memory of a GPU and of a host, item by item."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from unhang.model.plan import Amount, Memory, Method, Offload, Precision, SaveStyle, Strategy
from unhang.model.provenance import Message, say
from unhang.planning import activations
from unhang.planning.checkpoint import full_bytes, style_of
from unhang.planning.request import PlanRequest
from unhang.planning.state import Held, Widths, of_rank, of_unit, whole, widths

_LIVE = 1_000_000_000
"""DeepSpeed's default of stage3_max_live_parameters (runtime/zero/config.py)."""
_BUCKET = 500_000_000
"""DeepSpeed's default of reduce_bucket_size, in elements."""
_PREFETCH = 2
"""Batches of each worker: the default of DataLoader's prefetch_factor (torch/utils/data)."""
_OFFLOADED = {
    Offload.NONE: frozenset[str](),
    Offload.OPTIMIZER: frozenset({"optimizer"}),
    Offload.ALL: frozenset({"weights", "gradients", "optimizer"}),
}
_AHEAD = 2
"""FSDP holds the unit that computes and the next one."""


def of_gpu(request: PlanRequest) -> Memory:
    """The memory of the fullest GPU at its peak."""
    away = _OFFLOADED[request.offload]
    amounts = tuple(amount for amount in _of_gpu(request) if amount.what not in away)
    return Memory(amounts=amounts, available_bytes=request.gpu_memory)


def _of_gpu(request: PlanRequest) -> Iterator[Amount]:
    width = widths(request)
    shards = request.strategy
    kept = of_rank(request, sharded=request.shards_weights)
    yield _amount(
        "weights",
        _weights(kept, width),
        say(
            "plan.how_weights",
            "{elements} parameters of the fullest rank, as they are kept",
            elements=kept.trained + kept.frozen,
        ),
    )
    reduced = of_rank(request, sharded=request.shards_weights or shards is Strategy.ZERO2)
    yield _amount(
        "gradients",
        reduced.trained * width.gradients,
        say(
            "plan.how_gradients",
            "{elements} gradients of the fullest rank",
            elements=reduced.trained,
        ),
    )
    stepped = of_rank(request, sharded=shards is not Strategy.DDP)
    yield _amount(
        "optimizer",
        ceil(stepped.trained * (width.optimizer + width.master)),
        say(
            "plan.how_optimizer",
            "states and master copy of {elements} trained parameters",
            elements=stepped.trained,
        ),
    )
    yield from _buffers(request, width)
    yield from _activations(request)
    yield _amount(
        "reserve",
        request.reserve,
        say(
            "plan.how_reserve",
            "CUDA context, NCCL's buffers and fragmentation: assumed, see --reserve",
        ),
    )


def _weights(held: Held, width: Widths) -> int:
    quantised = held.frozen - held.frozen_plain
    plain = width.compute if quantised else width.frozen
    frozen = quantised * width.frozen + held.frozen_plain * plain
    return ceil(held.trained * width.weights + frozen)


def _buffers(request: PlanRequest, width: Widths) -> Iterator[Amount]:
    """Copies that exist only while a collective needs them."""
    root, *layers = (of_unit(request, unit) for unit in request.model.units)
    layer = max(layers, default=0)
    if request.strategy is Strategy.ZERO3:
        live = min(_LIVE, request.model.parameters)
        yield _amount(
            "gather",
            live * width.compute,
            say(
                "plan.how_gather_zero3",
                "gathered at once: DeepSpeed's stage3_max_live_parameters, {elements} parameters",
                elements=live,
            ),
        )
    elif request.shards_weights and request.shards > 1:
        live = root + _AHEAD * layer
        yield _amount(
            "gather",
            live * width.compute,
            say(
                "plan.how_gather_fsdp",
                "gathered at once: the root, one layer and the next one, {elements} parameters",
                elements=live,
            ),
        )
    elif request.precision in (Precision.BF16_MIXED, Precision.FP16_MIXED):
        cast = of_rank(request, sharded=False).trained
        yield _amount(
            "autocast",
            cast * width.compute,
            say(
                "plan.how_autocast",
                "16-bit copies of {elements} weights, which autocast keeps until the step's end",
                elements=cast,
            ),
        )
    trained = of_rank(request, sharded=False).trained
    if request.data_parallel == 1:
        return
    if request.strategy is Strategy.DDP:
        yield _amount(
            "buckets",
            trained * width.gradients,
            say(
                "plan.how_buckets_ddp",
                "DDP's buckets hold all gradients again, unless gradient_as_bucket_view is set",
            ),
        )
    elif request.strategy in (Strategy.ZERO1, Strategy.ZERO2, Strategy.ZERO3):
        bucket = min(_BUCKET, trained)
        yield _amount(
            "buckets",
            bucket * width.compute,
            say(
                "plan.how_buckets_zero",
                "DeepSpeed's reduce_bucket_size, {elements} gradients",
                elements=bucket,
            ),
        )
    elif request.method is Method.FULL:
        live = max(root, layer)
        yield _amount(
            "buckets",
            live * width.compute,
            say(
                "plan.how_buckets_fsdp",
                "gradients of the largest unit before they are scattered, {elements}",
                elements=live,
            ),
        )


def _activations(request: PlanRequest) -> Iterator[Amount]:
    kept, loss = activations.total(request), activations.of_loss(request)
    if kept is not None:
        yield _amount(
            "activations",
            kept,
            say(
                "plan.how_activations",
                "what {elements} layers keep for the backward pass",
                elements=activations.kept_layers(request),
            ),
        )
    if loss is not None:
        yield _amount(
            "loss",
            loss,
            say(
                "plan.how_loss_pairs",
                "logits of {elements} pairs of image and text, both ways, with their gradient",
                elements=activations.pairs(request),
            )
            if request.model.towers
            else say("plan.how_loss", "logits, their log-probabilities and their gradient"),
        )


def of_host(request: PlanRequest) -> Memory:
    """The memory of a full host: what every process of it holds, and rank 0's gather."""
    return Memory(amounts=tuple(_of_host(request)), available_bytes=request.host_memory)


def _of_host(request: PlanRequest) -> Iterator[Amount]:

    ranks = request.ranks_per_host
    yield _amount(
        "processes",
        ranks * 3 * 10**9,
        say(
            "plan.how_processes",
            "Python, PyTorch and CUDA of {elements} {elements:|process|processes}: 3 GB each,"
            " assumed",
            elements=ranks,
        ),
    )
    if request.data_bytes is not None:
        copies = ranks * (1 + request.workers)
        yield _amount(
            "data",
            copies * request.data_bytes,
            say(
                "plan.how_data",
                "{elements} copies of the data set: each rank and each loader worker holds one;"
                " {ranks} where workers are forked and it is arrays or tensors, whose pages they"
                " share",
                elements=copies,
                ranks=ranks,
            ),
        )
    if request.sample_bytes is not None and request.workers:
        ready = ranks * request.workers * _PREFETCH
        yield _amount(
            "batches",
            ready * request.batch * request.sample_bytes,
            say(
                "plan.how_batches",
                "{elements} batches that loader workers keep ready (prefetch_factor {each}), in"
                " /dev/shm; with pin_memory once more, pinned",
                elements=ready,
                each=_PREFETCH,
            ),
        )
    away = _OFFLOADED[request.offload]
    for amount in _of_gpu(request) if away else ():
        if amount.what in away:
            yield _amount(
                amount.what,
                ranks * amount.size_bytes,
                say(
                    "plan.how_offloaded",
                    "kept for {elements} {elements:|rank|ranks}, off the GPU",
                    elements=ranks,
                ),
            )
    load = whole(request)
    width = widths(request)
    elements = load.trained + load.frozen
    yield _amount(
        "loading",
        ranks * elements * width.compute,
        say(
            "plan.how_loading",
            "{elements} {elements:|rank holds|ranks hold} the whole model while loading it",
            elements=ranks,
        ),
    )
    style = style_of(request)
    if style is SaveStyle.RANK0:
        yield _amount(
            "saving",
            full_bytes(request),
            say("plan.how_saving_rank0", "rank 0 holds the whole checkpoint"),
        )
    elif style is SaveStyle.ASYNC:
        share = ceil(full_bytes(request) * ranks / request.world)
        yield _amount(
            "saving",
            share,
            say(
                "plan.how_saving_async",
                "the shards of {elements} {elements:|rank|ranks} until they are written",
                elements=ranks,
            ),
        )


def _amount(what: str, size: int, how: Message) -> Amount:
    return Amount(what=what, size_bytes=size, how=how)
