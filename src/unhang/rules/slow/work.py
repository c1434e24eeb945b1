"""From an incident to the work that was under way when the others gave up waiting.

A rank that works long and a rank that hangs look the same to those who wait. What tells them apart
is the last thing printed before the first time-out: a bar below 100 %, a begin without its end.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from unhang.model.events import (
    BarrierMissing,
    CollectiveTimeout,
    DumpSignal,
    Event,
    ExceptionKind,
    GlooFault,
    GlooProblem,
    GroupStatus,
    PhaseMark,
    Progress,
    PythonException,
    StackSeen,
    StoreFault,
    StoreProblem,
    WatchdogAborted,
    WatchdogStuck,
)
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Call, Incident, OpenPhase
from unhang.model.phases import Phase
from unhang.rules import order

Alarm = (
    CollectiveTimeout
    | GroupStatus
    | DumpSignal
    | WatchdogStuck
    | WatchdogAborted
    | BarrierMissing
    | StoreFault
    | GlooFault
    | StackSeen
    | PythonException
)
"""Somebody says that it waits or has given up."""

_STORE_WAITS = frozenset(
    {
        StoreProblem.UNIQUE_ID_TIMED_OUT,
        StoreProblem.KEY_TIMED_OUT,
        StoreProblem.BARRIER_TIMED_OUT,
        StoreProblem.BARRIER_WAITING,
        StoreProblem.CLIENTS_MISSING,
    }
)
_GLOO_WAITS = frozenset({GlooProblem.RECV_TIMED_OUT, GlooProblem.SEND_TIMED_OUT})
_SECOND_HAND = frozenset({ExceptionKind.COLLECTIVE, ExceptionKind.RENDEZVOUS})
_FLAG_ELEMENTS = 8
"""A collective of so few elements carries no tensor: it is a barrier, a flag or a length."""


class WaitKind(enum.Enum):
    """What the others wait in."""

    SETUP = "setup"
    """The store, a monitored barrier, gloo, an engine's queue: nobody works there."""
    BARRIER = "barrier"
    """A collective that carries no tensor."""
    TENSOR = "tensor"
    """A collective of the model or its data."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The others' side.

    Attributes:
        alarm: the first sign of it.
        limit_s: the smallest configured time-out.
        ranks: those that timed out.
        awaited: the ranks that the waiting ones name, or that a report calls absent.
        seq: the smallest sequence number waited in.
    """

    alarm: Alarm
    kind: WaitKind
    limit_s: float | None
    ranks: Ranks
    awaited: Ranks
    seq: int | None
    call: Call | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One rank's side: what it was at.

    Attributes:
        phase: what was under way, with its rank where known.
        mark: the latest sign of it.
        lasted_s: how long it had lasted at the alarm, by its bar or by times.
    """

    phase: OpenPhase
    mark: PhaseMark | Progress
    lasted_s: float | None

    @property
    def bar(self) -> Progress | None:
        """The bar that shows it."""
        return self.mark if isinstance(self.mark, Progress) else None


def find_wait(incident: Incident) -> Wait | None:
    """Return who waits in what, or None where nobody says so."""
    alarm = order.earliest(_alarms(incident)) or order.earliest(_raised(incident))
    if alarm is None:
        return None
    call = incident.calls[0] if incident.calls else None
    sequences = [int(c.seq) for c in incident.calls if c.seq is not None]
    return Wait(
        alarm=alarm,
        kind=_kind(incident, alarm),
        limit_s=_limit_s(incident),
        ranks=frozenset(r for c in incident.calls for r in c.joined if r >= Rank(0)),
        awaited=_awaited(incident),
        seq=min(sequences, default=None),
        call=call,
    )


def find_work(incident: Incident, wait: Wait, phases: frozenset[Phase]) -> Work | None:
    """Return the last work of these phases before the alarm, unless something else came after."""
    works = [w for p in incident.open_phases if (w := _work(incident, wait, p)) is not None]
    latest: dict[Rank | None, Work] = {}
    for work in works:
        other = latest.get(work.phase.rank)
        if other is None or order.is_before(other.mark, work.mark):
            latest[work.phase.rank] = work
    wanted = [w for w in latest.values() if w.phase.phase in phases]
    wanted.sort(key=lambda w: (not w.phase.unfinished, not w.phase.exclusive, w.bar is None))
    return wanted[0] if wanted else None


def _alarms(incident: Incident) -> Iterator[Alarm]:
    for event in incident.events:
        match event:
            case CollectiveTimeout() | GroupStatus() | DumpSignal() | WatchdogStuck():
                yield event
            case WatchdogAborted() | BarrierMissing():
                yield event
            case StoreFault() if event.problem in _STORE_WAITS:
                yield event
            case GlooFault() if event.problem in _GLOO_WAITS:
                yield event
            case StackSeen() if event.waiting:
                yield event
            case _:
                pass


def _raised(incident: Incident) -> Iterator[Alarm]:
    """Tracebacks out of a wait: those that say so, and those whose last line is lost."""
    for event in incident.all(PythonException):
        if event.kind in _SECOND_HAND or is_cut(event):
            yield event


def is_cut(event: object) -> bool:
    """Whether it is a traceback whose last line is lost: it may be anything, a time-out too."""
    return isinstance(event, PythonException) and not event.exception and not event.handled


def _kind(incident: Incident, alarm: Alarm) -> WaitKind:
    if not incident.calls:
        setup = BarrierMissing | StoreFault | GlooFault | StackSeen
        return WaitKind.SETUP if isinstance(alarm, setup) else WaitKind.UNKNOWN
    kinds = {_kind_of_call(call) for call in incident.calls}
    return kinds.pop() if len(kinds) == 1 else WaitKind.UNKNOWN


def _kind_of_call(call: Call) -> WaitKind:
    if call.ops == {"BARRIER"}:
        return WaitKind.BARRIER
    counts = [j.numel_in for j in call.joins.values() if j.numel_in is not None]
    if not counts:
        return WaitKind.UNKNOWN
    return WaitKind.BARRIER if max(counts) <= _FLAG_ELEMENTS else WaitKind.TENSOR


def _limit_s(incident: Incident) -> float | None:
    limits = [c.timeout_ms for c in incident.calls if c.timeout_ms is not None]
    if not limits:
        waits = [
            e for e in incident.events if isinstance(e, StoreFault | GlooFault | BarrierMissing)
        ]
        limits = [e.timeout_ms for e in waits if e.timeout_ms is not None]
    return min(limits) / 1_000 if limits else None


def _awaited(incident: Incident) -> Ranks:
    """Ranks that somebody names as missing; empty when that would be everybody."""
    absent = frozenset(r for call in incident.calls for r in call.absent)
    named = frozenset(r for e in incident.all(BarrierMissing) for r in e.missing)
    owners = frozenset(e.owner for e in incident.all(StoreFault) if e.owner is not None)
    return absent or named or owners or NO_RANKS


def _work(incident: Incident, wait: Wait, phase: OpenPhase) -> Work | None:
    """An open phase with its latest sign, if that came before the alarm."""
    mark = _mark(incident.events, phase)
    if mark is None or order.is_before(wait.alarm, mark):
        return None
    return Work(phase=phase, mark=mark, lasted_s=_lasted_s(incident, phase, mark, wait))


def _mark(events: tuple[Event, ...], phase: OpenPhase) -> PhaseMark | Progress | None:
    return next(
        (
            e
            for e in reversed(events)
            if isinstance(e, PhaseMark | Progress)
            and e.source is phase.source
            and e.phase in (phase.phase, None)
        ),
        None,
    )


def _lasted_s(
    incident: Incident, phase: OpenPhase, mark: PhaseMark | Progress, wait: Wait
) -> float | None:
    """The longest that bar or clock tells; earlier bars of the same work count too."""
    spans = []
    if isinstance(mark, Progress) and mark.elapsed_s is not None:
        spans.append(mark.elapsed_s + _before_s(incident, mark))
    elif phase.lasted_s is not None:
        spans.append(phase.lasted_s)
    if phase.since is not None and wait.alarm.at is not None:
        gap = wait.alarm.at.since(phase.since)
        if gap is not None and gap >= 0:
            spans.append(gap)
    return max(spans, default=None)


def _before_s(incident: Incident, bar: Progress) -> float:
    """Seconds of the finished bars of the same phase directly before `bar`, in the same voice."""
    total = 0.0
    for event in incident.events:
        if event is bar:
            break
        if not isinstance(event, Progress | PhaseMark) or event.origin != bar.origin:
            continue
        if event.phase is not bar.phase:
            total = 0.0
        elif isinstance(event, Progress) and event.done == event.total:
            total += event.elapsed_s or 0.0
    return total
