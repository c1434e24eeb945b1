"""What is known of a process that was killed, or ran out of memory: whose it was, what followed."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from unhang.model.events import (
    ExceptionKind,
    HostMemoryUsed,
    MemoryKillsCounted,
    ProcessEnded,
    PythonException,
    Reporter,
)
from unhang.model.finding import Collect
from unhang.model.host_lists import short_host
from unhang.model.ids import Ranks
from unhang.model.incident import Failure, Incident, Manner, ranks_of
from unhang.model.phases import Phase
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


def may_be_retried(incident: Incident, failures: Sequence[Failure]) -> bool:
    """Whether Ray alone tells of kills, without whom it killed, and nothing else went wrong.

    Its memory monitor kills tasks that Ray then runs again (`max_retries` is 3 by default).
    """
    told = [event for failure in failures for event in failure.events]
    return (
        all(isinstance(e, ProcessEnded) and e.reporter is Reporter.RAY for e in told)
        and all(f.pid is None and f.rank is None for f in failures)
        and len(incident.failures) == len(failures)
        and not incident.calls
    )


def none_for_memory(incident: Incident, failures: Sequence[Failure]) -> bool:
    """Whether the kernels of all hosts on which it happened counted no kill for memory."""
    counted = incident.all(MemoryKillsCounted)
    told = {event.origin.host for event in counted}
    hosts = {f.host for f in failures}
    return bool(counted) and not any(e.count for e in counted) and (len(told) == 1 or hosts <= told)


_HEAVY = frozenset({Phase.LOAD, Phase.SAVE, Phase.DATA})
"""Whole models or data sets pass through host memory in these."""
_FULL = 0.8
"""Share of a host's memory in use at the last look, so that one allocation more may end it."""


def memory_was_needed(incident: Incident) -> bool:
    """Whether something beside the kill speaks for memory."""
    busy = any(p.unfinished and p.phase in _HEAVY for p in incident.open_phases)
    full = any(look.share >= _FULL for look in incident.all(HostMemoryUsed))
    workers = (e for e in incident.all(ProcessEnded) if e.worker)
    return busy or full or any(worker.signal == signal.SIGKILL for worker in workers)


def killed_there(incident: Incident, reported: Sequence[Failure]) -> Ranks:
    """Ranks killed on hosts of which a kill for memory is reported that names no process."""
    hosts = {short_host(f.host) for f in reported if f.host is not None}
    killed = (f for f in incident.failures if f.manner is Manner.KILLED)
    return ranks_of(f for f in killed if f.host is not None and short_host(f.host) in hosts)


def left_too(failure: Failure, killed: Failure) -> bool:
    """Whether a process exited with an error; a parent that reports it later is the launcher's."""
    named = (failure.rank, failure.local_rank, failure.pid) != (None, None, None)
    told, other = killed.source, failure.source
    later = told.artifact == other.artifact and (told.line or 0) < (other.line or 0)
    return failure.manner is Manner.EXITED and (named or not later)
