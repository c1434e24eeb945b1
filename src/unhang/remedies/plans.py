"""Which cures a cause calls for, the best first."""

from __future__ import annotations

from collections.abc import Mapping

from unhang import lazy_re as re
from unhang.model.causes import Cause
from unhang.model.events import DeviceFault, StopKind, StopSeen
from unhang.model.phases import Phase
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import PROBES, Cure
from unhang.remedies.mechanisms import apply, killed_silently
from unhang.settings import find_framework

_PLANS: Mapping[Cause, tuple[Cure, ...]] = {
    Cause.RANK_EXCEPTION: (Cure.FIX_EXCEPTION, Cure.RECORD_ERRORS, Cure.STOP_TOGETHER),
    Cause.GPU_OOM: (Cure.FEWER_REQUESTS, Cure.SMALLER_BATCH, Cure.RECOMPUTE, Cure.ALLOCATOR),
    Cause.HOST_OOM: (Cure.FEWER_LOADERS, Cure.LEAN_LOAD, Cure.MORE_HOST_MEMORY),
    Cause.RANK_CRASH: (Cure.FAULT_HANDLER, Cure.EXCLUDE_NODE, Cure.STOP_TOGETHER),
    Cause.CHECKPOINT_SLOW: (
        Cure.SHARDED_SAVE,
        Cure.ASYNC_SAVE,
        Cure.LONGER_TIMEOUT,
        Cure.SMALLER_SAVE,  # after it: nothing resumes from such a checkpoint
    ),
    Cause.DATA_SLOW: (Cure.PREPARE_DATA, Cure.FASTER_DATA, Cure.LONGER_TIMEOUT),
    Cause.EVAL_SLOW: (
        Cure.EVAL_SMALLER,
        Cure.RANK0_WORK,
        Cure.EVAL_RARELY,
        Cure.LONGER_TIMEOUT,
    ),
    Cause.UNEVEN_WORK: (Cure.EVEN_STEPS,),
    Cause.DESYNC: (Cure.OUT_OF_BRANCH, Cure.DETAIL),
    Cause.MODEL_DIVERGENCE: (Cure.UNUSED_PARAMETERS, Cure.DETAIL),
    Cause.PG_DEADLOCK: (
        Cure.LAUNCH_ORDER,
        Cure.ONE_QUEUE,
        Cure.SAME_ORDER,
        Cure.CHANGE_VERSION,
    ),
    Cause.COMPILE_SLOW: (Cure.WARM_CACHE, Cure.NO_COMPILE, Cure.LONGER_TIMEOUT),
    Cause.BANDWIDTH_LOW: (Cure.FAST_PATH, Cure.TRANSPORT_CHECK),
    Cause.NET_INTERFACE: (Cure.INTERFACE, Cure.TRANSPORT_CHECK),
    Cause.RDMA_FAULT: (
        Cure.MEMLOCK,
        Cure.EXCLUDE_NODE,
        Cure.GID_INDEX,
        Cure.IB_PATIENCE,
        Cure.IB_OFF,
    ),
    Cause.P2P_FAULT: (Cure.P2P_OFF, Cure.ACS_OFF),
    Cause.SHM_SMALL: (Cure.MORE_SHM, Cure.FEWER_LOADERS),
    Cause.GPU_HARDWARE: (Cure.FABRIC_MANAGER, Cure.EXCLUDE_NODE, Cure.GPU_CHECK),
    Cause.GPU_KERNEL_FAULT: (Cure.BLOCKING_LAUNCH, Cure.GPU_CHECK),
    Cause.RENDEZVOUS: (Cure.FREE_PORT, Cure.ONE_ENDPOINT, Cure.LONGER_RENDEZVOUS),
    Cause.DEVICE_MAP: (Cure.SET_DEVICE, Cure.SHARED_GPU),
    Cause.VERSION_MISMATCH: (Cure.SAME_VERSIONS, Cure.CHANGE_VERSION),
    Cause.LIBRARY_BUG: (Cure.CHANGE_VERSION, Cure.SAME_VERSIONS),
    Cause.EXTERNAL_STOP: (Cure.LONGER_LIMIT, Cure.SAVE_OFTEN, Cure.KEEP_SESSION),
    Cause.TIMEOUT_SHORT: (Cure.LONGER_TIMEOUT,),
}

_BY_PHASE: Mapping[Phase, Cure] = {
    Phase.SAVE: Cure.SHARDED_SAVE,
    Phase.EVAL: Cure.EVAL_SMALLER,
    Phase.DATA: Cure.PREPARE_DATA,
    Phase.LOAD: Cure.LEAN_LOAD,
    Phase.COMPILE: Cure.WARM_CACHE,
}
"""What makes the work of a phase shorter, or smaller."""

_BY_STOP: Mapping[StopKind, tuple[Cure, ...]] = {
    StopKind.HANGUP: (Cure.KEEP_SESSION, Cure.SAVE_OFTEN),
    StopKind.INTERRUPT: (Cure.SAVE_OFTEN, Cure.KEEP_SESSION),
    StopKind.CANCELLED: (Cure.SAVE_OFTEN, Cure.LONGER_LIMIT),
    StopKind.PREEMPTED: (Cure.SAVE_OFTEN, Cure.REQUEUE),
    StopKind.EVICTED: (Cure.SAVE_OFTEN, Cure.MORE_HOST_MEMORY),
    StopKind.REMOVED: (Cure.SAVE_OFTEN,),
    StopKind.NODE_FAILED: (Cure.SAVE_OFTEN, Cure.EXCLUDE_NODE),
    StopKind.TIME_LIMIT: (Cure.LONGER_LIMIT, Cure.SAVE_OFTEN),
}
"""What helps against the next stop of the same kind."""

_PHASE_FIRST = frozenset({Cause.GPU_OOM, Cause.HOST_OOM})
"""Where running out in a phase points at the phase before anything else."""

_TRAINS = frozenset({Cure.SMALLER_BATCH, Cure.RECOMPUTE})
"""They shrink a step of training: an evaluation holds no gradients, and has its own batch."""

_PHASE_LAST = frozenset({Cause.TIMEOUT_SHORT, Cause.DESYNC})
_SHARD = re.compile(r"optim_states|zero_pp_rank|\.distcp\b|__\d+_\d+\b|mp_rank_\d+")
"""File names of checkpoints in which each rank writes its own part."""

_SAVES = frozenset({Cure.SHARDED_SAVE, Cure.ASYNC_SAVE, Cure.SMALLER_SAVE})


def plan(case: RemedyContext) -> tuple[Cure, ...]:
    """The cures for a case, the best first; a longer timeout is the last resort."""
    if case.cause is None:
        return _of_rank(case)
    cures = apply(case, _PLANS[case.cause])
    if case.cause is Cause.CHECKPOINT_SLOW and case.phase is Phase.LOAD:
        cures = (Cure.LEAN_LOAD, *(c for c in cures if c not in _SAVES))
    elif case.cause is Cause.CHECKPOINT_SLOW and _in_shards(case):
        cures = tuple(c for c in cures if c is not Cure.SHARDED_SAVE)
    framework = find_framework(case.framework)
    if case.cause is Cause.DATA_SLOW and framework is not None and framework.data_apart:
        # What a rank waits for is its share of a batch: no setting of the data set reaches it.
        cures = (Cure.LOOK_AT_RANK, Cure.LONGER_TIMEOUT)
    elif case.cause is Cause.DATA_SLOW and framework is not None and framework.copies_data:
        # More loaders would hold more copies, and none of them reads the data set.
        cures = (
            Cure.PREPARE_DATA,
            Cure.LEAN_LOAD,
            *(c for c in cures if c is not Cure.FASTER_DATA),
        )
    if case.cause is Cause.EXTERNAL_STOP:
        kinds = [stop.kind for stop in case.incident.all(StopSeen)]
        cures = next((_BY_STOP[kind] for kind in kinds if kind in _BY_STOP), cures)
    if case.cause is Cause.RENDEZVOUS and case.incident.connected_before:
        cures = (Cure.OWN_STORE,)
    own = None if case.phase is None else _BY_PHASE.get(case.phase)
    if case.cause in _PHASE_FIRST:
        return tuple(dict.fromkeys(_of_memory(case, cures, own)))
    if own is not None and case.cause in _PHASE_LAST:
        rarely = (Cure.EVAL_RARELY,) if own is Cure.EVAL_SMALLER else ()
        probes = tuple(cure for cure in cures if cure in PROBES)
        cures = (*(cure for cure in cures if cure not in PROBES), own, *rarely, *probes)
    return tuple(dict.fromkeys(cures))


def _of_memory(case: RemedyContext, cures: tuple[Cure, ...], own: Cure | None) -> tuple[Cure, ...]:
    """Running out in a phase points at the phase first; a full GPU may be another's."""
    if own is Cure.EVAL_SMALLER:
        own = Cure.EVAL_LESS_MEMORY
        cures = tuple(c for c in cures if c not in _TRAINS)
    cures = cures if own is None else (own, *cures)
    if case.cause is not Cause.GPU_OOM or not _shared_gpu(case):
        return cures
    return (Cure.SHARED_GPU,) if _crowded_out(case) else (Cure.SHARED_GPU, *cures)


def _of_rank(case: RemedyContext) -> tuple[Cure, ...]:
    """Who is known, why is not: look there, and what its phase or its end suggests."""
    own = None if case.phase is None else _BY_PHASE.get(case.phase)
    memory = (Cure.MORE_HOST_MEMORY, Cure.FEWER_LOADERS) if killed_silently(case) else ()
    return (*memory, Cure.LOOK_AT_RANK, *(() if own is None else (own,)))


def _in_shards(case: RemedyContext) -> bool:
    """The write under way is that of each rank's own part: nothing is gathered for it."""
    open_saves = (p.detail for p in case.incident.open_phases if p.phase is Phase.SAVE)
    return any(_SHARD.search(detail) for detail in open_saves)


def _crowded_out(case: RemedyContext) -> bool:
    """Other processes held more of the GPU than the one that failed: it cannot shrink enough."""
    return any(
        fault.own_bytes is not None and (fault.other_process_bytes or 0) > fault.own_bytes
        for fault in case.incident.all(DeviceFault)
    )


def _shared_gpu(case: RemedyContext) -> bool:
    """Another process held memory of the GPU: then the batch is not what must shrink."""
    return any(
        fault.other_process_bytes is not None and fault.other_process_bytes > 0
        for fault in case.incident.all(DeviceFault)
    )
