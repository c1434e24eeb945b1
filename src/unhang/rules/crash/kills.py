"""What is known of a process that was killed, or ran out of memory: whose it was, what followed."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import ExceptionKind, MemoryKillsCounted, PythonException
from unhang.model.finding import Collect
from unhang.model.incident import Failure, Incident, Manner
from unhang.rules.shared import order

KERNEL_LOG = Collect.of("kernel_log")


def was_outlived(incident: Incident, failure: Failure) -> bool:
    """An allocation that failed while the work went on; a kill is never outlived."""
    event = failure.events[0]
    return isinstance(event, PythonException) and order.survived(incident, event)


def is_same_kill(failure: Failure) -> bool:
    """A shell's `Killed`, or a parent that misses its helper: the reports come last."""
    event = failure.events[0]
    if isinstance(event, PythonException):
        return event.kind in (ExceptionKind.HELPER, ExceptionKind.WORKER)
    return failure.manner is Manner.KILLED


def none_for_memory(incident: Incident, failures: Sequence[Failure]) -> bool:
    """Whether the kernels of all hosts on which it happened counted no kill for memory."""
    counted = incident.all(MemoryKillsCounted)
    told = {event.origin.host for event in counted}
    hosts = {f.host for f in failures}
    return bool(counted) and not any(e.count for e in counted) and (len(told) == 1 or hosts <= told)
