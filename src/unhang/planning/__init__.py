"""From a model and a cluster to memory, checkpoints and the time limits that the job needs."""

from __future__ import annotations

from unhang.model.plan import Plan, SaveStyle
from unhang.planning.asked import build_request
from unhang.planning.changes import changes
from unhang.planning.checkpoint import save, style_of
from unhang.planning.collectives import collectives
from unhang.planning.limits import limits
from unhang.planning.memory import of_gpu, of_host
from unhang.planning.patches import patches
from unhang.planning.request import PlanRequest
from unhang.planning.state import whole

__all__ = ["PlanRequest", "build_request", "make_plan"]


def make_plan(request: PlanRequest) -> Plan:
    """Compute everything that the request decides."""
    gpu = of_gpu(request)
    saves = tuple(save(request, style) for style in SaveStyle)
    chosen = next(one for one in saves if one.style is style_of(request))
    time_limits = tuple(limits(request, chosen))
    return Plan(
        model=request.model.name,
        parameters=request.model.parameters,
        trained=whole(request).trained,
        world=request.world,
        strategy=request.strategy,
        method=request.method,
        precision=request.precision,
        gpu=gpu,
        host=of_host(request),
        saves=saves,
        chosen=chosen.style,
        time_limits=time_limits,
        patches=tuple(patches(request, time_limits)),
        collectives=tuple(collectives(request)),
        changes=() if gpu.fits is not False else tuple(changes(request)),
        notes=(*request.assumed, *request.model.notes),
    )
