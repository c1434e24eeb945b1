"""From an incident and its verdict to the facts that choose a remedy."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import (
    DumpRead,
    FrameworkSeen,
    GlooFault,
    GroupRef,
    PhaseMark,
    Progress,
    PythonException,
    SettingSeen,
    StackSeen,
    StopKind,
    StopSeen,
    StoreFault,
)
from unhang.model.ids import Ranks
from unhang.model.incident import Call, Incident
from unhang.model.phases import Phase
from unhang.remedies.duration import Estimate, estimate
from unhang.settings import frameworks

_STORE_CAUSES = frozenset({Cause.RENDEZVOUS, Cause.DATA_SLOW, Cause.COMPILE_SLOW})


_DDP = ("torch/nn/parallel/distributed.py", "find_unused_parameters")
"""A frame of DistributedDataParallel, and an argument that only its constructor has."""


_EVALUATES = frozenset(
    {
        *("evaluate", "evaluation_loop", "prediction_loop", "prediction_step", "eval_step"),
        *("validate", "validation_step", "validation_loop", "run_validation", "valid_step"),
        *("evaluate_and_print_results", "full_sort_predict"),
    }
)
"""Functions of frameworks' loops in which a model is evaluated."""

_TRAINS_WITHIN = frozenset({"training_step", "backward", "train_step"})
"""Of a step of training: what calls it may evaluate, too, between steps."""


class Sharding(enum.Enum):
    """How the model is spread over the ranks."""

    DDP = "ddp"
    FSDP = "fsdp"
    ZERO = "zero"


class GroupKind(enum.Enum):
    """Which group's timeout expired, as far as a knob must know."""

    WORLD = "world"
    SUBGROUP = "subgroup"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyContext:
    """What a remedy depends on.

    Attributes:
        framework: whose syntax to write, or None where it is unknown.
        beside: every framework that left a mark.
        cause: None where who and where are known, and why is not.
        expired_s: the timeout that ran out, rounded to seconds.
        work: how long the late work takes, where that can be told.
    """

    cause: Cause | None
    framework: str | None = None
    version: str | None = None
    torch: str | None = None
    nccl: str | None = None
    beside: frozenset[str] = frozenset()
    strategy: Sharding | None = None
    phase: Phase | None = None
    group: GroupKind = GroupKind.UNKNOWN
    expired_s: int | None = None
    work: Estimate | None = None
    culprits: Ranks = frozenset()
    hosts: frozenset[str] = frozenset()
    incident: Incident

    @property
    def before_training(self) -> bool:
        """Whether data was still being prepared: a mark of that is open, and no step was made."""
        phases = {e.phase for e in self.incident.all(PhaseMark)}
        phases |= {e.phase for e in self.incident.all(Progress) if e.phase is not None}
        stacks = " ".join(e.frame for e in self.incident.all(StackSeen)).lower()
        trained = Phase.TRAIN in phases or "dataloader" in stacks
        return Phase.DATA in phases and self.phase is Phase.DATA and not trained

    @property
    def by_gloo(self) -> bool:
        """Whether all that tells of a back end names Gloo: no setting of NCCL, or of a GPU, helps.

        A build of torch for the CPU has no other.
        """
        told = {e.back_end for e in self.incident.all(DumpRead)} - {""}
        told |= {e.value for e in self.incident.all(SettingSeen) if e.name == "backend"}
        return told == {"gloo"} if told else (self.torch or "").endswith("+cpu")


def build_case(incident: Incident, diagnosis: Diagnosis) -> RemedyContext | None:
    """Gather the facts; None where there is nothing to remedy: neither a cause, nor a rank."""
    cause = diagnosis.cause or _stopped(incident, diagnosis)
    if cause is None and diagnosis.outcome is not Outcome.LOCATED:
        return None
    name, version = find_framework_used(incident, diagnosis)
    beside = frozenset(e.name for e in incident.all(FrameworkSeen))
    call = diagnosis.call or next(iter(incident.calls), None)
    stores = incident.all(StoreFault)
    return RemedyContext(
        cause=cause,
        framework=name,
        version=version,
        torch=_version(incident, "torch"),
        nccl=_version(incident, "nccl"),
        beside=beside | {name} if name else beside,
        strategy=_strategy(incident, beside),
        phase=diagnosis.phase or _phase_of_memory(incident, diagnosis),
        group=_group(call, stores, cause),
        expired_s=_expired_s(call, stores, incident.all(GlooFault)),
        work=estimate(incident, cause, diagnosis.phase),
        culprits=diagnosis.culprits,
        hosts=diagnosis.culprit_hosts,
        incident=incident,
    )


def _stopped(incident: Incident, diagnosis: Diagnosis) -> Cause | None:
    """A time limit that ran out is a fact, even where nobody knows what the job did until then.

    Nothing else may be suspected: a job that hangs runs into its limit, too.
    """
    suspected = {candidate.cause for candidate in diagnosis.candidates}
    limits = any(stop.kind is StopKind.TIME_LIMIT for stop in incident.all(StopSeen))
    return Cause.EXTERNAL_STOP if limits and suspected == {Cause.EXTERNAL_STOP} else None


def _phase_of_memory(incident: Incident, diagnosis: Diagnosis) -> Phase | None:
    """In which phase memory ran out: by the stack of the exception, or what had begun by then."""
    if diagnosis.cause is Cause.GPU_OOM:
        frames = {f.function for e in incident.all(PythonException) for f in e.frames}
        evaluates = not frames.isdisjoint(_EVALUATES) and frames.isdisjoint(_TRAINS_WITHIN)
        return Phase.EVAL if evaluates else None
    if diagnosis.cause is Cause.HOST_OOM:
        begun = {p.phase for p in incident.open_phases if p.unfinished}
        return Phase.SAVE if begun == {Phase.SAVE} else None
    return None


def find_framework_used(incident: Incident, diagnosis: Diagnosis) -> tuple[str | None, str | None]:
    """Name and release of the framework; the user may name both: `--framework verl==0.7.1`."""
    used = diagnosis.framework or incident.framework
    if used is None:
        return None, None
    name, _, version = used[0].partition("==")
    known = frameworks().get(name)
    return name, version or _version(incident, name if known is None else known.component)


def _version(incident: Incident, component: str) -> str | None:
    return incident.versions.get(component, (None, ""))[0]


def _strategy(incident: Incident, beside: frozenset[str]) -> Sharding | None:
    """From marks and settings; None where nothing tells."""
    known = frameworks()
    shards = next((known[n].shards for n in beside if n in known and known[n].shards), None)
    if shards is not None:
        return Sharding(shards)
    names = " ".join(f"{e.name} {e.value}".lower() for e in incident.all(SettingSeen))
    frames = (f.file for e in incident.all(PythonException) for f in e.frames)
    names = f"{names} {' '.join(frames)} {' '.join(e.frame for e in incident.all(StackSeen))}"
    sharding = next((f.shards for f in known.values() if f.shards and f.name in names), None)
    if sharding is not None:
        return Sharding(sharding)
    if "zero_stage" in names:
        return Sharding.ZERO
    if "fsdp" in names:
        return Sharding.FSDP
    return Sharding.DDP if any(mark in names for mark in _DDP) else None


def _group(call: Call | None, stores: tuple[StoreFault, ...], cause: Cause | None) -> GroupKind:
    if call is None:
        # The store has the timeout of the group that it was made for: the first, the world.
        return GroupKind.WORLD if stores and cause in _STORE_CAUSES else GroupKind.UNKNOWN
    return group_kind(call.group)


def group_kind(group: GroupRef | None) -> GroupKind:
    """Tell the world group from others, as far as its names allow."""
    if group is None:
        return GroupKind.UNKNOWN
    if group.is_default or group.guid == "0":
        return GroupKind.WORLD
    if group.guid is None and group.description is None and group.local_id == 0:
        return GroupKind.WORLD
    if group.guid is None and group.description is None and group.local_id is None:
        return GroupKind.UNKNOWN
    return GroupKind.SUBGROUP


def _expired_s(
    call: Call | None, stores: tuple[StoreFault, ...], pairs: tuple[GlooFault, ...]
) -> int | None:
    """The limit that ran out: of the call, else of the store, else of Gloo's sockets."""
    limits = [None if call is None else call.timeout_ms]
    for faults in (stores, pairs):
        if limits == [None]:
            limits = [fault.timeout_ms for fault in faults] or [None]
    known = [limit for limit in limits if limit is not None]
    return None if not known else max(1, round(max(known) / 1_000))
