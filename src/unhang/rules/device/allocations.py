"""Which failed allocations on a GPU count: those that nobody caught and that are no by-product."""

from __future__ import annotations

from unhang.model.events import (
    DeviceFault,
    DeviceProblem,
    ExceptionKind,
    NcclFailure,
    NcclReason,
    PythonException,
    StopKind,
)
from unhang.model.incident import Incident
from unhang.rules.shared import order, speakers

Allocation = DeviceFault | NcclFailure | PythonException
"""Whoever tells of it."""

_ABSURD_BYTES = 1 << 46
"""64 TiB: no GPU and no tensor is that large."""


def find_allocations(incident: Incident) -> list[Allocation]:
    """Return the failed allocations, the earliest first, those that NCCL made last."""
    faults: list[Allocation] = [d for d in incident.all(DeviceFault) if _is_ours(incident, d)]
    return [*(speakers.in_order(faults) or _raised(incident)), *_through_nccl(incident)]


def find_caught(incident: Incident) -> list[DeviceFault]:
    """Failed allocations that a rank caught, and after which the ranks came apart.

    It skips the step that the others do, so the next exchange does not fit: no work follows, and
    a check that compares ranks raises, or somebody ends the job.
    """
    return [
        fault
        for fault in incident.all(DeviceFault)
        if fault.problem is DeviceProblem.OUT_OF_MEMORY
        and fault.warning
        and not order.works_after(incident, fault)
        and _came_apart(incident, fault)
    ]


def _came_apart(incident: Incident, fault: DeviceFault) -> bool:
    """Whether a check compared the ranks afterwards, or somebody ended a job that stood still."""
    differs = any(
        e.kind is ExceptionKind.MISMATCH and order.is_before(fault, e) is not False
        for e in incident.all(PythonException)
    )
    return differs or any(
        s.kind is StopKind.INTERRUPT and order.is_before(fault, s) for s in order.stops(incident)
    )


def _raised(incident: Incident) -> list[Allocation]:
    """Tracebacks whose last line tells no more; where it does, the fault says it."""
    if any(d.problem is DeviceProblem.OUT_OF_MEMORY for d in incident.all(DeviceFault)):
        return []
    return [e for e in incident.all(PythonException) if _is_fatal(incident, e)]


def _through_nccl(incident: Incident) -> list[NcclFailure]:
    """NCCL's failed allocations; pinned host memory fails with the same words."""
    pinned = {
        (e.origin.host, e.origin.pid)
        for e in speakers.nccl(incident, NcclReason.HOST_MEMORY)
        if "host alloc" in e.detail
    }
    failed = speakers.nccl(incident, NcclReason.CUDA_OOM)
    return [e for e in failed if (e.origin.host, e.origin.pid) not in pinned]


def _is_ours(incident: Incident, fault: DeviceFault) -> bool:
    """A failed allocation of a sane size that nobody caught."""
    if fault.problem is not DeviceProblem.OUT_OF_MEMORY or fault.warning:
        return False
    absurd = fault.asked_bytes is not None and fault.asked_bytes >= _ABSURD_BYTES
    if absurd or order.survived(incident, fault):
        return False
    caught = [e for e in incident.all(PythonException) if e.kind is ExceptionKind.GPU_OOM]
    beside = [e for e in caught if _is_same(e, fault)]
    return not beside or any(_is_fatal(incident, e) for e in beside)


def _is_same(exception: PythonException, fault: DeviceFault) -> bool:
    """Whether a traceback ends in the line of the fault."""
    one, other = exception.source, fault.source
    if one.artifact != other.artifact or one.line is None or other.line is None:
        return False
    return exception.origin == fault.origin and abs(one.line - other.line) <= 60


def _is_fatal(incident: Incident, event: PythonException) -> bool:
    if event.kind is not ExceptionKind.GPU_OOM or event.handled:
        return False
    return not order.survived(incident, event)
