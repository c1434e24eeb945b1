"""From one event to what it names of its process: host, local rank, pid, task, rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from unhang.model.events import (
    ClosingSignal,
    CollectiveTimeout,
    DumpSignal,
    Event,
    GroupStatus,
    KernelEvent,
    PhaseMark,
    ProcessEnded,
    Progress,
    Reporter,
    WatchdogAborted,
    WatchdogStuck,
    Witness,
    WorldSeen,
)
from unhang.model.host_lists import short_host
from unhang.model.ids import LocalRank, Rank

Grouped = CollectiveTimeout | GroupStatus | WatchdogAborted | WatchdogStuck | DumpSignal
"""Events that name a rank within a process group."""


class SpeakerProcess(NamedTuple):
    """What an event names of a process; None is unknown."""

    host: str | None
    local: LocalRank | None
    pid: int | None
    task: int | None


def tells_of_another(event: Event) -> bool:
    """Whether a launcher or the kernel prints it: its own origin says nothing of the process."""
    if isinstance(event, ProcessEnded):
        return event.reporter is not Reporter.SELF
    if isinstance(event, WorldSeen):
        return event.listed
    return event.witness in (Witness.LAUNCHER, Witness.KERNEL)


def named_rank(event: Event) -> Rank | None:
    """The global rank that the event's own text names."""
    if isinstance(event, ProcessEnded | WorldSeen | PhaseMark | Progress):
        return event.rank
    return None


def process_of(event: Event) -> SpeakerProcess:
    """The process that an event tells of: its own fields before its origin."""
    origin = event.origin
    printed = SpeakerProcess(short_host(origin.host), origin.local_rank, origin.pid, origin.task)
    match event:
        case ProcessEnded():
            told = SpeakerProcess(short_host(event.host), event.local_rank, event.pid, event.task)
        case ClosingSignal():
            told = SpeakerProcess(short_host(event.host), None, event.pid, event.task)
        case KernelEvent():
            told = SpeakerProcess(None, None, event.pid, None)
        case WorldSeen():
            told = SpeakerProcess(short_host(event.host), event.local_rank, event.pid, event.task)
        case _:
            return printed
    if tells_of_another(event):
        return told._replace(host=told.host or printed.host)
    return SpeakerProcess(
        told.host or printed.host,
        printed.local if told.local is None else told.local,
        printed.pid if told.pid is None else told.pid,
        printed.task if told.task is None else told.task,
    )


def host_names(events: Iterable[Event]) -> dict[str, str]:
    """Other names of hosts: what an agent's table calls the host that its lines are printed on.

    Its failures are those of its own node; pods and folders have names of their own.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if isinstance(event, ProcessEnded) and event.reporter is Reporter.ELASTIC_TABLE:
            told, printed = short_host(event.host), short_host(event.origin.host)
            if told is not None and printed is not None and told != printed:
                names[told].add(printed)
    return {told: printed.pop() for told, printed in names.items() if len(printed) == 1}


def first_host(events: Iterable[Event]) -> str | None:
    """The host that the first of these events names: of who ended, else of who printed it.

    Who prints a list of processes need not be on the host of any of them, so it counts last.
    """
    listed = None
    for event in events:
        told = event.host if isinstance(event, ProcessEnded | WorldSeen) else None
        host = told or event.origin.host
        if host and (told or not isinstance(event, WorldSeen) or not event.listed):
            return host
        listed = listed or host
    return listed
