"""The planned time limits in the syntax of the user's framework."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.plan import Patch, TimeLimit
from unhang.planning.request import PlanRequest
from unhang.settings import Reach, timeout_knobs

_PLAIN = "torch"


def patches(request: PlanRequest, limits: tuple[TimeLimit, ...]) -> Iterator[Patch]:
    """Yield the setting for the world's group; where a framework has none, PyTorch's own.

    A limit that is the default already needs no setting.
    """
    world = limits[0]
    if world.phase is None:
        return
    version = request.framework_version
    for framework in (request.framework or _PLAIN, _PLAIN):
        for knob in timeout_knobs(framework, version):
            alive = knob.dead_in(version, frozenset()) is None
            if Reach.WORLD in knob.reaches and knob.patch and alive:
                if knob.default_in(version) is not None and (
                    (knob.default_in(version) or 0) >= world.seconds
                ):
                    return
                yield Patch(
                    framework=framework,
                    where=knob.where,
                    setting=knob.key,
                    text=knob.write(world.seconds),
                    reaches=tuple(sorted(reach.value for reach in knob.reaches)),
                )
                return
