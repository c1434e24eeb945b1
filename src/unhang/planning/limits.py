"""The time limit that each process group needs: the longest legitimate wait, and a margin."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from unhang.model.phases import Phase
from unhang.model.plan import Save, TimeLimit
from unhang.model.provenance import Message, say
from unhang.planning.request import PlanRequest
from unhang.remedies.duration import DEFAULT_S, MARGIN

START_S = 60
"""What the first call after a phase may add: a graph is compiled, a communicator is made."""
_WHOLE_MINUTE = 60


def limits(request: PlanRequest, saved: Save) -> Iterator[TimeLimit]:
    """Yield the limit of each group that the job will have.

    The world's group meets every phase that one rank does alone. Groups of tensor, pipeline and
    sharded parallelism meet it as well when their first call after the phase comes before one of
    the world, and they do not inherit its limit.
    """
    wait, phase = longest(request, saved)
    seconds = needed(wait)
    because = _because(wait, seconds)
    for group in _groups(request):
        yield TimeLimit(
            group=group, seconds=seconds, phase=phase if wait else None, because=because
        )


def longest(request: PlanRequest, saved: Save) -> tuple[float, Phase]:
    """The longest time for which ranks rightly wait, and what for."""
    known = [
        (max(saved.wait_s or 0.0, request.save_s or 0.0), Phase.SAVE),
        (request.eval_s or 0.0, Phase.EVAL),
        (request.prepare_s or 0.0, Phase.DATA),
    ]
    return max(known, key=lambda item: item[0])


def needed(wait_s: float) -> int:
    """Seconds of a limit under which such a wait does not end the job; never below the default."""
    seconds = ceil((wait_s * MARGIN + START_S) / _WHOLE_MINUTE) * _WHOLE_MINUTE
    return max(DEFAULT_S, seconds)


def _because(wait: float, seconds: int) -> Message:
    if wait == 0.0:
        return say(
            "plan.limit_unknown",
            "PyTorch's default: no duration of a save, an evaluation or a preparation is known.",
        )
    if seconds == DEFAULT_S:
        return say(
            "plan.limit_default",
            "PyTorch's default suffices: the longest wait takes {wait_s:s}.",
            wait_s=wait,
        )
    return say(
        "plan.limit_derived",
        "{margin} x {wait_s:s} + {more_s:s} for the first call after it.",
        margin=MARGIN,
        wait_s=wait,
        more_s=START_S,
    )


def _groups(request: PlanRequest) -> Iterator[str]:
    yield "default_pg"
    if request.shards not in (1, request.world):
        yield "shard"
    if request.tensor_parallel > 1:
        yield "tensor_parallel"
    if request.pipeline_parallel > 1:
        yield "pipeline_parallel"
    if request.expert_parallel > 1:
        yield "expert_parallel"
