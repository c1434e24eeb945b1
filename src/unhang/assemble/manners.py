"""How a process fails, by each event alone that tells of it."""

from __future__ import annotations

import signal

from unhang.model.events import (
    Alarm,
    BarrierMissing,
    ClosingSignal,
    CollectiveTimeout,
    DesyncReported,
    DeviceFault,
    DeviceProblem,
    DumpSignal,
    End,
    Event,
    ExceptionKind,
    Fault,
    FingerprintMismatch,
    Finished,
    GlooFault,
    GroupStatus,
    KernelEvent,
    KernelProblem,
    ModelMismatch,
    NcclFailure,
    NcclReason,
    ProcessEnded,
    PythonException,
    StopSeen,
    StoreFault,
    StoreProblem,
    Teardown,
    WatchdogAborted,
    WatchdogStuck,
)
from unhang.model.incident import Manner

CRASH_SIGNALS = frozenset(
    {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
)
_STOPPED = frozenset({ExceptionKind.INTERRUPTED, ExceptionKind.TERMINATED})
_PEER = frozenset({ExceptionKind.COLLECTIVE, ExceptionKind.RENDEZVOUS})
_SECOND_HAND_STORE = frozenset({StoreProblem.PEER_CLOSED, StoreProblem.UNIQUE_ID_TIMED_OUT})
_KERNEL_MANNERS = {
    KernelProblem.OOM_KILL: Manner.HOST_OOM,
    KernelProblem.CGROUP_OOM: Manner.HOST_OOM,
    KernelProblem.SEGFAULT: Manner.CRASHED,
}
_SECOND_HAND_NCCL = frozenset(
    {
        NcclReason.PEER_CLOSED,
        NcclReason.LOCAL_PEER_CLOSED,
        NcclReason.SOCKET_BROKEN,
        NcclReason.PROXY_FOLLOW_UP,
        NcclReason.IB_FLUSHED,
        NcclReason.CONNECT_REFUSED,
        NcclReason.CONNECT_ABORTED,
        NcclReason.UNSPECIFIED,
    }
)


def manner_of(event: Event) -> Manner | None:
    """How a process fails by this event; None where it is no failure of a process."""
    if isinstance(event, Alarm):
        return _manner_of_alarm(event)
    if isinstance(event, Fault):
        return _manner_of_fault(event)
    return _manner_of_end(event) if isinstance(event, End) else None


def _manner_of_alarm(event: Alarm) -> Manner | None:
    match event:
        case WatchdogAborted():
            return Manner.DEVICE if event.reason is Teardown.CUDA else Manner.WATCHDOG
        case CollectiveTimeout():
            return Manner.WATCHDOG
        case GroupStatus() | DumpSignal() | DesyncReported() | BarrierMissing() | WatchdogStuck():
            return None  # what ends the process is said in other words as well


def _manner_of_fault(event: Fault) -> Manner | None:
    match event:
        case PythonException():
            return _manner_of_exception(event)
        case DeviceFault():
            return _manner_on_device(event)
        case NcclFailure():
            return _manner_of_nccl(event)
        case KernelEvent():
            return _KERNEL_MANNERS.get(event.problem)
        case GlooFault():
            return Manner.PEER
        case StoreFault():
            return Manner.PEER if event.problem in _SECOND_HAND_STORE else None
        case FingerprintMismatch() | ModelMismatch():
            return None  # an exception follows


def _manner_of_end(event: End) -> Manner | None:
    match event:
        case ProcessEnded():
            return None if event.worker else _manner_by_exit(event)
        case ClosingSignal():
            return Manner.CLOSED
        case StopSeen() | Finished():
            return None  # of the job, not of a process


def _manner_on_device(event: DeviceFault) -> Manner | None:
    if event.warning:
        return None
    return Manner.GPU_OOM if event.problem is DeviceProblem.OUT_OF_MEMORY else Manner.DEVICE


def _manner_of_nccl(event: NcclFailure) -> Manner | None:
    if event.warning:
        return None
    if event.reason is NcclReason.CUDA_OOM:
        return Manner.GPU_OOM
    return Manner.PEER if event.reason in _SECOND_HAND_NCCL else Manner.NCCL


def _manner_of_exception(event: PythonException) -> Manner | None:
    kind = event.kind
    if event.handled or kind in (ExceptionKind.CHILD, ExceptionKind.EXIT):
        return None
    if kind in _STOPPED:
        return Manner.STOPPED
    if kind in _PEER:
        return Manner.PEER
    match kind:
        case ExceptionKind.GPU_OOM:
            return Manner.GPU_OOM
        case ExceptionKind.HOST_MEMORY:
            return Manner.HOST_OOM
        case ExceptionKind.CUDA:
            return Manner.DEVICE
        case _:
            return Manner.RAISED


def _manner_by_exit(event: ProcessEnded) -> Manner | None:
    if event.oom:
        return Manner.HOST_OOM
    code = event.signal
    if code is None and event.exit_code is not None and 128 < event.exit_code < 160:
        code = event.exit_code - 128
    if code is None:
        return None if event.exit_code in (0, None) else Manner.EXITED
    if code == signal.SIGKILL:
        return Manner.KILLED
    if code in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        return Manner.CLOSED
    return Manner.CRASHED if code in CRASH_SIGNALS else Manner.EXITED
