"""The collectives that training will issue, so that their sizes are recognised in a log."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.architectures import GatheredUnit
from unhang.model.plan import CollectiveSize, Method, Strategy
from unhang.model.provenance import say
from unhang.planning.request import PlanRequest
from unhang.planning.state import adapters, widths


def collectives(request: PlanRequest) -> Iterator[CollectiveSize]:
    """Yield the recurring collectives, the largest first."""
    if request.data_parallel == 1:
        return
    if request.model.towers and request.model.hidden is not None:
        yield _features(request, request.model.hidden)
    if request.shards_weights and request.shards > 1:
        for unit in sorted(request.model.units, key=lambda unit: -unit.numel):
            yield _sized(request, "ALLGATHER", unit)
            if request.method is Method.FULL:
                yield _sized(request, "REDUCE_SCATTER", unit)
        return
    trained = request.model.parameters if request.method is Method.FULL else adapters(request)
    op = "ALLREDUCE" if request.strategy in (Strategy.DDP, Strategy.ZERO1) else "REDUCE_SCATTER"
    yield CollectiveSize(
        op=op,
        what=say("plan.call_gradients", "all gradients of a step, in buckets"),
        numel=trained,
        size_bytes=trained * widths(request).gradients,
        ranks=request.data_parallel,
    )


def _sized(request: PlanRequest, op: str, unit: GatheredUnit) -> CollectiveSize:
    padded = -(-unit.numel // request.shards) * request.shards
    return CollectiveSize(
        op=op,
        what=say(
            "plan.call_unit",
            "{unit} of the model, {count} {count:|time|times} in each pass",
            unit=unit.name,
            count=unit.count,
        ),
        numel=padded,
        size_bytes=padded * widths(request).compute,
        ranks=request.shards,
    )


def _features(request: PlanRequest, width: int) -> CollectiveSize:
    everybody = request.batch * request.data_parallel * width
    return CollectiveSize(
        op="ALLGATHER",
        what=say("plan.call_features", "vectors of all images, and as many of texts, for the loss"),
        numel=everybody,
        size_bytes=everybody * widths(request).compute,
        ranks=request.data_parallel,
    )
