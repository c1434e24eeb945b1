"""What came first: the order of facts, as far as clocks and places in one log tell.

Shared by the families whose verdicts hang on it: a failure before the first time-out may be its
cause, one after it is a consequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from unhang.model.events import (
    CollectiveTimeout,
    CommunicatorStage,
    DeviceFault,
    Event,
    GlooFault,
    GlooProblem,
    NcclFailure,
    ProcessEnded,
    Progress,
    StopKind,
    StopSeen,
    StoreFault,
    StoreProblem,
    WatchdogStuck,
)
from unhang.model.events.base import Seen
from unhang.model.events.lifecycle import STATES_OF_WORK, state_of_work
from unhang.model.incident import Failure, Incident, Manner
from unhang.model.provenance import Provenance
from unhang.model.time import Instant
from unhang.model.waiting import worked_on_after


class Placed(Protocol):
    """Something with a time, or at least a place in a log: an event or a failure."""

    @property
    def at(self) -> Instant | None:
        """When it was printed, or None."""

    @property
    def source(self) -> Provenance:
        """Where it stands."""


P = TypeVar("P", bound=Placed)

_NORMAL_AT_START = frozenset({StoreProblem.CONNECT_REFUSED, StoreProblem.BARRIER_WAITING})
OUTSIDE = frozenset(
    {
        StopKind.INTERRUPT,
        StopKind.CANCELLED,
        StopKind.TIME_LIMIT,
        StopKind.PREEMPTED,
        StopKind.TERMINATED,
        StopKind.HANGUP,
        StopKind.EVICTED,
        StopKind.REMOVED,
    }
)
"""Stops by somebody or something outside the job; a lost node is a failure of its own."""

DECISIVE = frozenset(
    {
        Manner.RAISED,
        Manner.GPU_OOM,
        Manner.HOST_OOM,
        Manner.KILLED,
        Manner.CRASHED,
        Manner.DEVICE,
        Manner.NCCL,
    }
)
"""Manners that tell why a process failed by itself."""


def gap_s(later: Placed, earlier: Placed) -> float | None:
    """Seconds between two facts, or None where their clocks cannot be compared."""
    if later.at is None or earlier.at is None:
        return None
    return later.at.since(earlier.at)


def is_before(one: Placed, other: Placed) -> bool | None:
    """Whether `one` came first, by time, else by place in one log; None where nothing tells."""
    gap = gap_s(other, one)
    if gap is not None and abs(gap) >= _resolution_s(one, other):
        return gap > 0
    if one.source.artifact != other.source.artifact or any(map(is_told_later, (one, other))):
        return None
    if one.source.line is None or other.source.line is None:
        return None
    return one.source.line < other.source.line


def is_told_later(fact: Placed) -> bool:
    """Whether only its place is known, and that in an answer that was asked for afterwards."""
    event = fact.events[0] if isinstance(fact, Failure) else fact
    return fact.at is None and isinstance(event, ProcessEnded | StopSeen) and event.told_later


def _resolution_s(one: Placed, other: Placed) -> float:
    return max((p.at.resolution_s for p in (one, other) if p.at is not None), default=0.0)


def earliest(items: Iterable[P]) -> P | None:
    """The first of some facts; where nothing tells, the one that was read first."""
    best: P | None = None
    for item in items:
        if best is None or is_before(item, best):
            best = item
    return best


def first_timeout(incident: Incident) -> CollectiveTimeout | None:
    """The time-out that was given first."""
    return earliest(incident.timeouts)


def stops(incident: Incident) -> Sequence[StopSeen]:
    """Signs of a stop from outside."""
    outside = (s for s in incident.all(StopSeen) if s.kind in OUTSIDE)
    return [s for s in outside if not _of_an_earlier_run(incident, s)]


def _of_an_earlier_run(incident: Incident, stop: StopSeen) -> bool:
    """A shell's `Terminated` before everything else, although the job then went on and failed.

    Time-outs after it may be those of orphans, so they speak for the stop.
    """
    if stop.kind is not StopKind.TERMINATED or incident.timeouts:
        return False
    if any(is_before(e, stop) for e in incident.events):
        return False
    return any(is_before(stop, s) for s in _trouble(incident))


def stop_before(incident: Incident, fact: Placed) -> StopSeen | None:
    """A stop from outside that came before `fact`."""
    return next((s for s in stops(incident) if is_before(s, fact)), None)


def is_of_an_earlier_run(incident: Incident, fact: Placed) -> bool:
    """Whether the job worked on for long after `fact`, and then began to wait.

    A time that stands above an undated traceback says little: bars rarely have times.
    """
    own = fact.events if isinstance(fact, Failure) else (fact,)
    told = [event.at for event in own if event.at is not None]
    return len(told) > 0 and all(worked_on_after(at, incident.first_waits) for at in told)


def decisive_failure_before(incident: Incident, fact: Placed) -> Failure | None:
    """A process that failed by itself, in a way that tells why, before `fact`."""
    return next(decisive_failures_before(incident, fact), None)


def decisive_failures_before(incident: Incident, fact: Placed) -> Iterator[Failure]:
    """All of them, earliest first."""
    return (
        f
        for f in incident.failures
        if f.manner in DECISIVE
        and f.source != fact.source
        and is_before(f, fact)
        and not is_of_an_earlier_run(incident, f)
    )


def decisive_failure_not_after(incident: Incident, fact: Placed) -> Failure | None:
    """The same, where an unknown order counts as before: for facts that are easily echoes."""
    return next(
        (
            f
            for f in incident.failures
            if f.manner in DECISIVE
            and f.source != fact.source
            and is_before(f, fact) is not False
            and not is_of_an_earlier_run(incident, f)
        ),
        None,
    )


_SECOND_HAND_STORE = _NORMAL_AT_START | {StoreProblem.PEER_CLOSED, StoreProblem.NODE_LOST}
_SECOND_HAND_GLOO = frozenset({GlooProblem.PEER_CLOSED})


def communication_trouble_before(incident: Incident, fact: Placed) -> Placed | None:
    """Trouble below the collectives before `fact` that is not itself the echo of a lost peer."""
    signs: list[Placed] = [
        *(e for e in incident.all(GlooFault) if e.problem not in _SECOND_HAND_GLOO),
        *(e for e in incident.all(StoreFault) if e.problem not in _SECOND_HAND_STORE),
        *(f for f in incident.failures if f.manner is Manner.NCCL),
    ]
    return next((s for s in signs if s.source != fact.source and is_before(s, fact)), None)


def trouble_before(incident: Incident, fact: Placed) -> Placed | None:
    """Anything that shows the job failing or stuck before `fact`."""
    return next(troubles_before(incident, fact), None)


def troubles_before(incident: Incident, fact: Placed) -> Iterator[Placed]:
    """All that shows the job failing or stuck before `fact`."""
    return (s for s in _trouble(incident) if is_before(s, fact))


def _trouble(incident: Incident) -> list[Placed]:
    return [
        *incident.timeouts,
        *incident.all(WatchdogStuck),
        *incident.all(GlooFault),
        *(e for e in incident.all(DeviceFault) if not e.warning),
        *(e for e in incident.all(NcclFailure) if not e.warning),
        *(e for e in incident.all(StoreFault) if e.problem not in _NORMAL_AT_START),
        *(f for f in incident.failures if f.own and f.manner in DECISIVE),
    ]


def works_after(incident: Incident, fact: Placed) -> bool:
    """Whether a step, a bar or a collective shows the job at work after `fact`."""
    signs: list[Placed] = [
        *incident.all(Progress),
        *incident.timeouts,
        *incident.all(CommunicatorStage),
    ]
    return any(is_before(fact, s) is not False for s in signs)


def survived(incident: Incident, exception: Seen) -> bool:
    """Whether work of the same printer went on after an exception: then it ended nothing.

    One bar after it may be text that was still in a buffer; several states of work are not. Where
    a launcher saw a process leave with an error, something did end.
    """
    if any(e.exit_code not in (None, 0) and not e.worker for e in incident.all(ProcessEnded)):
        return False
    later = [
        p
        for p in (*incident.all(Progress), *incident.counted)
        if p.source.artifact == exception.source.artifact
        and is_before(exception, p)
        and p.origin.rank == exception.origin.rank
        and exception.origin.pid in (None, p.origin.pid)
    ]
    return len({state_of_work(p) for p in later}) >= STATES_OF_WORK


_TIMES_CAUGHT = 3


def came_and_went(incident: Incident, name: Callable[[Event], Hashable]) -> frozenset[Hashable]:
    """The errors that came again and again with work in between: somebody catches them.

    Tracebacks of several processes, and a buffer that is written late, stand together.

    Args:
        incident: what is known.
        name: what makes two errors the same; None for what is no error.
    """
    last: dict[Hashable, int] = {}
    times: Counter[Hashable] = Counter()
    states = 0
    done = None
    for event in incident.with_counted:
        if isinstance(event, Progress):
            states += event.done != done
            done = event.done
        elif (error := name(event)) is not None:
            times[error] += states - last.get(error, states) > 1
            last[error] = states
    return frozenset(error for error, count in times.items() if count >= _TIMES_CAUGHT)
