"""From what a launcher does with its processes to who they are, and who printed what names nobody.

An agent starts one process for each local rank and tells of all of them when one fails: it names
those that left by themselves and sends a signal to the others. Three things follow where it is the
only agent of the log:

- it started as many processes as it tells of;
- when it names all but one, the other one has the number that is left;
- when exactly one left by itself, errors that nobody's mark stands in front of are that one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unhang.model.events import (
    ClosingSignal,
    CollectiveTimeout,
    DeviceFault,
    Event,
    ExceptionKind,
    ProcessEnded,
    PythonException,
    Reporter,
    StopSeen,
    WorldSeen,
)
from unhang.model.ids import Rank

_AGENTS = frozenset({Reporter.ELASTIC, Reporter.ELASTIC_TABLE})
_SECOND_HAND = frozenset(
    {
        ExceptionKind.CHILD,
        ExceptionKind.COLLECTIVE,
        ExceptionKind.EXIT,
        ExceptionKind.INTERRUPTED,
        ExceptionKind.RENDEZVOUS,
        ExceptionKind.TERMINATED,
    }
)
_MOST = 64
_TERM, _ABORT = 15, 6


@dataclass(frozen=True, slots=True)
class Children:
    """The processes of the only agent of a log.

    Attributes:
        count: how many there are.
        ranks: by process id; local ranks that are the global ones as well.
        failed: the end of the only one that left by itself, or None.
    """

    count: int
    ranks: dict[int, Rank]
    failed: ProcessEnded | None


def find_children(events: Sequence[Event]) -> Children | None:
    """Return the processes of the agent, or None where there are several, or none is sure.

    Several agents have several hosts, a local rank twice, or ranks that are not local ones. Where
    somebody has a number that so few processes do not have, the agent's words are not all there.
    """
    ended: dict[int, ProcessEnded] = {}
    closed: set[int] = set()
    hosts: set[str] = set()
    tables = 0
    for event in events:
        if isinstance(event, ClosingSignal) and event.pid is not None:
            closed.add(event.pid)
        elif isinstance(event, ProcessEnded) and event.reporter in _AGENTS:
            if event.pid is None or event.local_rank is None:
                return None
            if event.rank is not None and int(event.rank) != int(event.local_rank):
                return None
            hosts.update(() if event.host is None else (event.host,))
            tables += event.reporter is Reporter.ELASTIC_TABLE and event.reported_first
            ended[event.pid] = event
    closed -= set(ended)
    highest = max((int(n) for e in events for n in _numbers(e) if n is not None), default=-1)
    locals_ = [int(end.local_rank or 0) for end in ended.values()]
    count = len(ended) + len(closed)
    alone = len(hosts) <= 1 and tables <= 1 and len(set(locals_)) == len(locals_)
    if not ended or not alone or not max(*locals_, highest) < count <= _MOST:
        return None
    ranks = {pid: Rank(int(end.local_rank or 0)) for pid, end in ended.items()}
    left = set(range(count)) - set(locals_)
    if len(closed) == len(left) == 1:
        ranks[closed.pop()] = Rank(left.pop())
    own = [e for e in ended.values() if e.signal != _TERM]
    failed = own[0] if len(own) == 1 else None
    return Children(count=count, ranks=ranks, failed=failed)


def _numbers(event: Event) -> tuple[int | None, ...]:
    """The numbers that an event gives the process that printed it."""
    if isinstance(event, WorldSeen) and not event.listed:
        return event.rank, event.local_rank
    return event.origin.rank, event.origin.local_rank


def own_errors(events: Sequence[Event], children: Children | None) -> list[Event]:
    """The events, with the errors that name nobody signed by the only process that failed.

    Not where one of them names another process, where a stop from outside was seen, where they are
    several errors (some of them may be another's), or where its end is an abort and somebody gave
    up waiting: a watchdog ends a victim so.
    """
    failed = None if children is None else children.failed
    stopped = any(isinstance(e, StopSeen) for e in events)
    if failed is None or failed.local_rank is None or stopped:
        return list(events)
    if failed.signal == _ABORT and any(isinstance(e, CollectiveTimeout) for e in events):
        return list(events)
    rank = Rank(int(failed.local_rank))
    errors = [e for e in events if _own(e)]
    named = {e.origin.rank for e in errors} - {None, rank}
    kinds = {e.exception for e in errors if isinstance(e, PythonException) and not e.chained}
    if named or len(kinds) > 1:
        return list(events)
    chosen = {id(e) for e in errors if e.origin.rank is None}
    return [
        replace(e, origin=replace(e.origin, rank=rank)) if id(e) in chosen else e for e in events
    ]


def _own(event: Event) -> bool:
    """Whether it tells why a process failed by itself."""
    match event:
        case DeviceFault():
            return not event.warning
        case ProcessEnded():
            return event.worker and event.reporter is Reporter.DATALOADER
        case PythonException():
            return not event.handled and event.thread is None and event.kind not in _SECOND_HAND
        case _:
            return False
