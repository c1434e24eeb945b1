"""The collectives that training will issue, so that their sizes are recognised in a log."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.architectures import GatheredUnit, Part
from unhang.model.plan import CollectiveSize, Method, Strategy
from unhang.model.provenance import Message, say
from unhang.planning.request import PlanRequest
from unhang.planning.state import of_rank, of_unit, widths


def collectives(request: PlanRequest) -> Iterator[CollectiveSize]:
    """Yield the recurring collectives: of data parallelism, then of each other kind."""
    if request.data_parallel > 1:
        yield from _of_data_parallel(request)
    yield from _of_activations(request)


def _of_data_parallel(request: PlanRequest) -> Iterator[CollectiveSize]:
    if request.model.towers and request.model.hidden is not None:
        yield _sized(
            request,
            "ALLGATHER",
            request.batch * request.data_parallel * request.model.hidden,
            request.data_parallel,
            say("plan.call_features", "vectors of all images, and as many of texts, for the loss"),
        )
    if request.shards_weights and request.shards > 1:
        for unit in sorted(request.model.units, key=lambda unit: -unit.numel):
            yield from _of_unit(request, unit)
        return
    trained = of_rank(request, sharded=False).trained
    op = "ALLREDUCE" if request.strategy in (Strategy.DDP, Strategy.ZERO1) else "REDUCE_SCATTER"
    yield CollectiveSize(
        op=op,
        what=say("plan.call_gradients", "all gradients of a step, in buckets"),
        numel=trained,
        size_bytes=trained * widths(request).gradients,
        ranks=request.data_parallel,
    )


def _of_unit(request: PlanRequest, unit: GatheredUnit) -> Iterator[CollectiveSize]:
    """Experts that are spread over ranks are gathered among those that hold the same ones."""
    split = request.expert_parallel > 1 and any(t.part is Part.EXPERT for t in unit.tensors)
    experts = of_unit(request, unit, Part.EXPERT) if split else 0
    what = say(
        "plan.call_unit",
        "{unit} of the model, {count} {count:|time|times} in each pass",
        unit=unit.name,
        count=unit.count,
    )
    for numel, ranks in (
        (of_unit(request, unit) - experts, request.shards),
        (experts, request.shards // request.expert_parallel),
    ):
        if not numel or ranks <= 1:
            continue
        padded = -(-numel // ranks) * ranks
        yield _sized(request, "ALLGATHER", padded, ranks, what)
        if request.method is Method.FULL:
            yield _sized(request, "REDUCE_SCATTER", padded, ranks, what)


def _of_activations(request: PlanRequest) -> Iterator[CollectiveSize]:
    """What tensor and pipeline parallelism send in each micro-batch.

    Source: Shoeybi et al., *Megatron-LM* (2019), section 3; Narayanan et al., *Efficient
    Large-Scale Language Model Training* (2021), section 3.
    """
    if request.tokens is None or request.model.hidden is None or request.model.towers:
        return
    numel = request.tokens * request.batch * request.model.hidden
    if request.tensor_parallel > 1:
        what = say(
            "plan.call_tensor_parallel",
            "activations of a layer, twice forward and twice backward; with sequence parallelism,"
            " gathered and scattered",
        )
        yield _sized(request, "ALLREDUCE", numel, request.tensor_parallel, what)
    if request.pipeline_parallel > 1:
        what = say("plan.call_pipeline", "activations, from one pipeline stage to the next")
        yield _sized(request, "SEND", numel, 2, what)


def _sized(request: PlanRequest, op: str, numel: int, ranks: int, what: Message) -> CollectiveSize:
    return CollectiveSize(
        op=op, what=what, numel=numel, size_bytes=numel * widths(request).compute, ranks=ranks
    )
