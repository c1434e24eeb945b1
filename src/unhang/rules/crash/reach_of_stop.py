"""Whom a stop from outside reached, who answered it, and what had gone before."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import (
    ClosingSignal,
    DeviceFault,
    DeviceProblem,
    Finished,
    PhaseMark,
    Progress,
    StopKind,
    StopSeen,
    StoreFault,
    StoreProblem,
)
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Manner, ranks_of
from unhang.model.phases import Phase
from unhang.model.rule import Incident
from unhang.model.time import Instant
from unhang.rules.crash.signs_of_work import keeps_pace, worked
from unhang.rules.shared import order, speakers

_ANSWER_S = 60.0
"""So soon those learn it who are in touch with a process that is stopped."""
WITHOUT_CHOICE = frozenset(
    {StopKind.HANGUP, StopKind.PREEMPTED, StopKind.EVICTED, StopKind.REMOVED}
)
"""Nobody chose these because the job hung."""
_NEAR = 20
"""Lines between the words of one stop: a shell's `^C`, and what a launcher says of it."""


def told_again(stop: StopSeen, found: Sequence[StopSeen]) -> Instant | None:
    """The time of a stop without one, where lines below it tell of the same stop with theirs."""
    place = stop.source
    return next(
        (
            s.at
            for s in found
            if s.at is not None
            and s.kind is stop.kind
            and s.source.artifact == place.artifact
            and 0 <= (s.source.line or 0) - (place.line or 0) <= _NEAR
        ),
        None,
    )


def went_on(incident: Incident, stop: StopSeen) -> bool:
    """Whether nothing had hung until the stop.

    Steps were still printed after it, or the next one was not overdue yet when it came.
    """
    later = any(order.is_before(stop, p) for p in incident.all(Progress))
    return (later and worked(incident, stop)) or keeps_pace(incident, stop)


def finished_afterwards(incident: Incident, stop: StopSeen) -> bool:
    """Whether a job that was queued again came to its good end.

    Another file tells it, or the same one after the state that was saved had been loaded.
    """
    return stop.kind is StopKind.PREEMPTED and any(
        _loaded_between(incident, stop, end)
        if end.source.artifact == stop.source.artifact
        else (end.whole_job or end.last_words) and order.is_before(end, stop) is not True
        for end in incident.all(Finished)
    )


def _loaded_between(incident: Incident, stop: StopSeen, end: Finished) -> bool:
    """Whether a state was loaded after a stop, and work was done from there to the end."""
    begun = [
        mark
        for mark in incident.all(PhaseMark)
        if mark.phase is Phase.LOAD and order.is_before(stop, mark) and order.is_before(mark, end)
    ]
    return len(begun) > 0 and any(
        order.is_before(begun[0], step) and order.is_before(step, end)
        for step in incident.all(Progress)
    )


def was_answered(incident: Incident, stop: StopSeen) -> bool:
    """Whether others lost a peer within a minute: they had been in touch with it until then."""
    gaps = (order.gap_s(f, stop) for f in incident.failures if f.manner is Manner.PEER)
    return any(gap is not None and 0 <= gap <= _ANSWER_S for gap in gaps)


def stopped(incident: Incident) -> Ranks:
    """The ranks that the stop reached, where others went on and lost them."""
    reached = ranks_of(f for f in incident.failures if f.manner is Manner.STOPPED)
    lost = any(f.manner is Manner.PEER and f.rank not in reached for f in incident.failures)
    size = incident.world.size
    return reached if lost and size is not None and len(reached) < size else NO_RANKS


def removed(incident: Incident, stop: StopSeen) -> Ranks:
    """All ranks of a host that was taken away while others stayed.

    Where the cloud names the host by a number of its own, that which the others then missed.
    """
    if stop.kind not in WITHOUT_CHOICE:
        return NO_RANKS
    missed = {s.origin.host for s in incident.all(StopSeen) if s.kind is StopKind.NODE_FAILED}
    missed |= {f.host for f in incident.all(StoreFault) if f.problem is StoreProblem.NODE_LOST}
    host = stop.origin.host or (missed.pop() if len(missed) == 1 else None)
    if host is None:
        return NO_RANKS
    found = speakers.ranks_on(incident, {host})
    return found if len(found) < (incident.world.size or len(incident.roster)) else NO_RANKS


def out_of_memory(incident: Incident, stop: StopSeen) -> bool:
    """Whether a rank had caught a failed allocation on its GPU, and nothing worked after it."""
    return any(
        fault.problem is DeviceProblem.OUT_OF_MEMORY
        and fault.warning
        and order.is_before(fault, stop)
        and not order.works_after(incident, fault)
        for fault in incident.all(DeviceFault)
    )


def by_launcher(incident: Incident, stop: StopSeen) -> bool:
    """A rank received the SIGTERM that its launcher sends after another rank's failure."""
    if stop.kind is not StopKind.TERMINATED:
        return False
    return any(order.is_before(c, stop) for c in incident.all(ClosingSignal))
