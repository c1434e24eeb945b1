"""A longer timeout, written for the group that ran into it, or the patch that reaches it.

A timeout belongs to a process group, and groups do not inherit it. A framework's knob reaches the
world group (Megatron's all of them); for any other group the knob would be a placebo, and the
groups themselves are changed after they were made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.model.causes import Cause
from unhang.model.diagnosis import Fix, FixKind
from unhang.model.events import GlooFault, SettingSeen
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.remedies.context import GroupKind, RemedyContext, Sharding
from unhang.remedies.cures import PatchLanguage
from unhang.remedies.duration import DEFAULT_S, NewTimeout, new_timeout
from unhang.settings import (
    KnobStatus,
    Reach,
    TimeoutKnob,
    find_framework,
    frameworks,
    timeout_knobs,
)
from unhang.settings.frameworks import PLAIN
from unhang.settings.versions import at_least, covers

_EARLY = frozenset({Phase.INIT, Phase.LOAD, Phase.COMPILE})
_ALL_GROUPS = """
import datetime

import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d

# On every rank, once all groups exist (after the model is wrapped, the engine or mesh is built):
dist.barrier()
for group in list(c10d._world.pg_map):
    c10d._set_pg_timeout(datetime.timedelta(seconds={seconds}), group)
"""

_NEW_GROUP = """
import datetime

import torch.distributed as dist

# Where the group is made: it does not inherit the timeout of the world group.
group = dist.new_group(ranks, timeout=datetime.timedelta(seconds={seconds}))
"""


def lengthen(case: RemedyContext) -> Iterator[Fix]:
    """Yield the fixes that give the group that timed out a longer timeout."""
    new = new_timeout(case.expired_s, case.work, _default_s(case))
    if new is None:
        return
    knobs = list(_knobs(case)) if _governed(case) else []
    if not knobs:
        yield _by_source(case, new)
    for knob in knobs:
        yield _by_knob(case, knob, new)


def _default_s(case: RemedyContext) -> int:
    """The limit of a job in whose files nobody has set one."""
    if case.group is GroupKind.SUBGROUP:
        return DEFAULT_S
    knobs = timeout_knobs(_knob_owner(case), case.version)
    defaults = [k.default_in(case.version) for k in knobs if Reach.WORLD in k.reaches]
    return min((d for d in defaults if d is not None), default=DEFAULT_S)


def _governed(case: RemedyContext) -> bool:
    """Whether the value that ran out can be one that the framework's knob has set.

    A job of the Trainer (1800 s) that dies at PyTorch's own 600 s died in another group, or in one
    that was made before the Trainer.
    """
    if case.expired_s != DEFAULT_S:
        return True
    named = [k for k in timeout_knobs(_knob_owner(case), case.version) if Reach.WORLD in k.reaches]
    defaults = {k.default_in(case.version) for k in named}
    if not defaults or None in defaults or DEFAULT_S in defaults:
        return True
    return any(e.value.strip() in ("600", "10") for e in case.incident.all(SettingSeen))


def _knobs(case: RemedyContext) -> Iterator[TimeoutKnob]:
    """The knob that reaches the group, and one that takes over in some set-ups or releases."""
    needed = Reach.SUBGROUPS if case.group is GroupKind.SUBGROUP else Reach.WORLD
    fitting = [
        knob
        for knob in timeout_knobs(_knob_owner(case), case.version)
        if needed in knob.reaches
        and knob.patch
        and knob.key != "new_group(timeout=)"
        and knob.dead_in(case.version, case.beside) is None
        and _for_variant(case, knob)
        and not _bygone(case, knob)
    ]
    if not fitting:
        return
    yield fitting[0]
    for knob in fitting[1:]:
        other_release = covers(case.version, knob.since, knob.last) is None and (
            knob.status is KnobStatus.ABSENT
        )
        if knob.status is KnobStatus.PARTIAL or other_release:
            yield knob
            return


def _bygone(case: RemedyContext, knob: TimeoutKnob) -> bool:
    """A knob of old releases, where the release is unknown and nothing shows that it is read.

    Where it is set, in seconds, to the very limit that ran out, the release reads it.
    """
    if case.version is not None or knob.last is None:
        return False
    told = (e.value.strip() for e in case.incident.all(SettingSeen) if e.name == knob.key)
    return str(case.expired_s) not in told


def _knob_owner(case: RemedyContext) -> str:
    framework = find_framework(case.framework)
    if framework is None:
        return PLAIN
    outer = (f for f in frameworks().values() if f.name in case.beside)
    return next((f.name for f in outer if framework.name in f.overtakes), framework.name)


def _for_variant(case: RemedyContext, knob: TimeoutKnob) -> bool:
    """Of the knobs for several strategies or stages, the one at hand."""
    match knob.variant:
        case None:
            return True
        case "init" | "train":
            early = case.phase in _EARLY or case.expired_s == knob.default_s == 300
            return (knob.variant == "init") is early
        case variant:
            return variant == (case.strategy or Sharding.DDP).value


def _by_knob(case: RemedyContext, knob: TimeoutKnob, new: NewTimeout) -> Fix:
    if (said := knob.at_least(new.seconds)) != new.seconds:
        new = replace(new, seconds=said, times=round(said / new.on, 1))
    patch = knob.write(new.seconds)
    if case.incident.all(GlooFault):
        patch = patch.replace('init_process_group("nccl"', 'init_process_group("gloo"')
    if knob.where == PatchLanguage.HYDRA.value and case.version is None and knob.last is not None:
        patch = f"++{patch}"  # works whether or not the release declares the key
    return _fix(
        case, new, where=knob.where, patch=patch, reaches=knob.reaches, key=knob.key, by="knob"
    )


def _by_source(case: RemedyContext, new: NewTimeout) -> Fix:
    """No knob reaches the group: change it where it is made, or once it is made."""
    text, key = _ALL_GROUPS, "_set_pg_timeout"
    reaches = frozenset({Reach.WORLD, Reach.SUBGROUPS})
    if at_least(case.torch, "2.3") is False:
        text, key, reaches = _NEW_GROUP, "new_group(timeout=)", frozenset({Reach.SUBGROUPS})
    patch = text.strip().replace("{seconds}", str(new.seconds))
    where = PatchLanguage.PYTHON.value
    return _fix(case, new, where=where, patch=patch, reaches=reaches, key=key, by="source")


def _fix(
    case: RemedyContext,
    new: NewTimeout,
    *,
    where: str,
    patch: str,
    reaches: frozenset[Reach],
    key: str,
    by: str,
) -> Fix:
    return Fix(
        title=Message(
            key=f"fix.longer_timeout.title.{new.basis}",
            values={"new": new.seconds, "on": new.on, "times": f"{new.times:g}", "key": key},
        ),
        kind=_kind(case, new),
        framework=_name(case),
        where=where,
        patch=patch,
        reaches=", ".join(sorted(reach.value for reach in reaches)),
        risk=Message(key="fix.longer_timeout.risk", values={"new": new.seconds}),
        verify=Message(
            key=f"fix.longer_timeout.verify.{by}", values={"new_ms": new.seconds * 1_000}
        ),
        version=case.version,
    )


def _name(case: RemedyContext) -> str:
    framework = find_framework(case.framework)
    return PLAIN if framework is None else framework.name


def _kind(case: RemedyContext, new: NewTimeout) -> FixKind:
    if new.basis in ("probe", "default"):
        return FixKind.PROBE
    return FixKind.CURE if case.cause is Cause.TIMEOUT_SHORT else FixKind.WORKAROUND
