"""From an incident to the wait: who gave up first, in what, after how long, on whom."""

from __future__ import annotations

import enum
from collections.abc import (
    Iterable,
    Iterator,
)
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import (
    BarrierMissing,
    Event,
    ExceptionKind,
    GlooFault,
    GlooProblem,
    PythonException,
    StackSeen,
    StoreFault,
)
from unhang.model.ids import Rank, Ranks, RankSpans
from unhang.model.incident import Call, Incident, Manner
from unhang.model.stack_states import Doing
from unhang.model.waits import ranks_of_ends
from unhang.rules.shared import order

_SECOND_HAND = frozenset({ExceptionKind.COLLECTIVE, ExceptionKind.RENDEZVOUS})
_FLAG_ELEMENTS = 8
"""A collective of so few elements carries no tensor: it is a barrier, a flag or a length."""


_OTHERS = 3
"""Where the size of the job is guessed, fewer that wait do not make the last one conspicuous."""


class WaitKind(enum.Enum):
    """What the others wait in."""

    SETUP = "setup"
    """The store, a monitored barrier, an engine's queue: nobody works there."""
    BARRIER = "barrier"
    """A collective that carries no tensor."""
    TENSOR = "tensor"
    """A collective of the model or its data."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class OthersWait:
    """The others' side.

    Attributes:
        alarm: the first sign of it.
        limit_s: the smallest configured time-out.
        ranks: those that timed out, or that stand in a wait by their stacks.
        awaited: the ranks that all wait for in the end, by whatever tells of it.
        seq: the smallest sequence number waited in.
        missing: the only rank that did not give up waiting although all the others did, or None.
    """

    alarm: Event
    kind: WaitKind
    limit_s: float | None
    ranks: Ranks
    awaited: Ranks
    seq: int | None
    missing: Rank | None
    call: Call | None


_GIVES = re.compile(r"torch/distributed/\w+\.py:(?!\w*(?:barrier|init|rendezvous|connect))")
"""Collectives that hand something over: any of them may be one of the model's."""


def find_wait(incident: Incident) -> OthersWait | None:
    """Return who waits in what, or None where nobody says so."""
    told = (event for event in incident.events if event.waits)
    alarm = order.earliest(told) or order.earliest(_raised(incident))
    if alarm is None:
        return None
    call = incident.calls[0] if incident.calls else None
    sequences = [int(c.seq) for c in incident.calls if c.seq is not None]
    ranks = _waiting(incident)
    return OthersWait(
        alarm=alarm,
        kind=_kind(incident, alarm),
        limit_s=_limit_s(incident),
        ranks=ranks,
        awaited=ranks_of_ends(incident.waits.ends),
        seq=min(sequences, default=None),
        missing=_only_missing(incident, ranks),
        call=call,
    )


def measured_s(wait: OthersWait) -> float | None:
    """How long the first that gave up had waited, as it measured it itself; else its limit."""
    first = None if wait.call is None else wait.call.first
    if first is not None and first.elapsed_ms is not None:
        return first.elapsed_ms / 1_000
    return wait.limit_s


def _raised(incident: Incident) -> Iterator[Event]:
    """Tracebacks out of a wait: those that say so, and those whose last line is lost."""
    for event in incident.all(PythonException):
        if event.kind in _SECOND_HAND or is_cut(event):
            yield event


def is_cut(event: object) -> bool:
    """Whether it is a traceback whose last line is lost: it may be anything, a time-out too."""
    return isinstance(event, PythonException) and not event.exception and not event.handled


def _kind(incident: Incident, alarm: Event) -> WaitKind:
    if not incident.calls:
        meets = isinstance(alarm, StackSeen) and _GIVES.search(alarm.frame) is None
        setup = isinstance(alarm, BarrierMissing | StoreFault) or meets
        return WaitKind.SETUP if setup else WaitKind.UNKNOWN
    kinds = {_kind_of_call(call) for call in incident.calls}
    return kinds.pop() if len(kinds) == 1 else WaitKind.UNKNOWN


def _kind_of_call(call: Call) -> WaitKind:
    if call.ops == {"BARRIER"}:
        return WaitKind.BARRIER
    counts = [j.numel_in for j in call.sides if j.numel_in is not None]
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


def _waiting(incident: Incident) -> Ranks:
    """Ranks that gave up on a collective, or that wait in one where their stacks were taken."""
    stand = frozenset(
        s.rank for s in incident.stances if s.doing is Doing.WAITS and s.rank is not None
    )
    barriers = [e for e in incident.all(BarrierMissing) if not e.on_host]
    reached = frozenset(e.reporter for e in barriers if e.reporter is not None)
    told = _ranks_of(g for g in incident.all(GlooFault) if g.gave_up)
    return incident.gave_up | stand | reached | told


def _only_missing(incident: Incident, ranks: Ranks) -> Rank | None:
    """The one rank of the job that gave up no wait, where all the others did.

    A connection that a peer closed under a rank ended a wait too: that rank did not stay away.
    Where nothing tells the size of the job, at least three others must have given up, or the
    launcher must have ended the last one, which was alive and in no hurry to fail.
    """
    closed = (g for g in incident.all(GlooFault) if g.problem is GlooProblem.PEER_CLOSED)
    gave_up = ranks | _ranks_of(closed)
    if not ranks:
        return None
    world = incident.world.ranks
    told = world is not None or len(gave_up) >= _OTHERS
    if world is None:
        world = RankSpans.below(max(gave_up | frozenset(incident.roster)) + 1)
    missing = world - gave_up
    if len(missing) != 1:
        return None
    (last,) = missing
    return last if told or last in _closed(incident) else None


def _closed(incident: Incident) -> Ranks:
    """Ranks that the launcher ended after another one had failed."""
    closed = (f.rank for f in incident.failures if f.manner is Manner.CLOSED)
    return frozenset(rank for rank in closed if rank is not None)


def _ranks_of(faults: Iterable[GlooFault]) -> Ranks:
    """Ranks that Gloo told of them."""
    found = (e.origin.rank if e.rank is None else e.rank for e in faults)
    return frozenset(rank for rank in found if rank is not None)
