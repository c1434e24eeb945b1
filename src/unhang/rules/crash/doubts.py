"""What speaks against an exception as the cause: it was an echo, an accident, or any error."""

from __future__ import annotations

from unhang.model.events import (
    Event,
    Fact,
    GlooFault,
    GlooProblem,
    NcclFailure,
    NcclReason,
    ProcessEnded,
    PythonException,
    Reporter,
    StoreFault,
    StoreProblem,
)
from unhang.model.events.lifecycle import LONG_AT_WORK, STATES_OF_WORK, state_of_work
from unhang.model.incident import Failure, Incident
from unhang.model.provenance import Message, say
from unhang.rules.shared import order, rivals

_AGAIN = 3
"""So often somebody logs an error that he lives with; processes that end of it name themselves."""
_CLOSED = frozenset(
    {NcclReason.PEER_CLOSED, NcclReason.LOCAL_PEER_CLOSED, NcclReason.CONNECT_ABORTED}
)


def against(incident: Incident, first: Failure, exception: PythonException) -> Message | None:
    """What makes an exception an echo or an accident, or None."""
    echo = rivals.of_a_failure(incident, first)
    if echo is not None:
        return echo
    if order.communication_trouble_before(incident, first) is not None:
        return say(
            "CRA001.against_communication",
            "ranks had failed to reach each other before the exception",
        )
    if not exception.exception and not _lost_by_others(incident, first):
        return say("CRA001.against_cut", "the last line of the traceback is missing")
    if not exception.frames and _may_be_logged(incident, exception):
        return say(
            "CRA001.against_logged",
            "only its last line is there: it may have been caught, and merely logged",
        )
    if exception.thread is not None and not incident.timeouts:
        return say(
            "CRA001.against_thread",
            "it was raised in a helper thread, so the process itself lived on",
        )
    if exception.thread is None and first.rank in incident.gave_up:
        return say(
            "CRA001.against_joined",
            "the process that raised had joined the collective that is stuck",
        )
    return None


def _may_be_logged(incident: Incident, exception: PythonException) -> bool:
    """Whether steps of the same log went on after it, or a process died of something else.

    Ray catches what an actor raises: its process lives on.
    """
    ended = [e for e in incident.all(ProcessEnded) if not e.worker]
    if any(e.reporter is Reporter.RAY for e in ended):
        return True
    states = {
        state_of_work(event)
        for event in incident.events
        if event.source.artifact == exception.source.artifact
        and order.is_before(exception, event) is True
    }
    return len(states - {None}) >= (LONG_AT_WORK if ended else STATES_OF_WORK)


def _lost_by_others(incident: Incident, first: Failure) -> bool:
    """Other ranks lost a peer, and none of them found a difference: a named rank did leave."""
    if incident.shows(Fact.FINGERPRINTS):
        return False
    others = (f for f in incident.failures if f.rank is not None and f.rank != first.rank)
    return first.rank is not None and any(lost_a_peer(e) for f in others for e in f.events)


def lost_a_peer(event: Event) -> bool:
    """A connection was closed from the other side; a wait that merely timed out tells less."""
    match event:
        case StoreFault():
            return event.problem is StoreProblem.PEER_CLOSED
        case GlooFault():
            return event.problem is GlooProblem.PEER_CLOSED
        case NcclFailure():
            return event.reason in _CLOSED
        case _:
            return False


def weakness(incident: Incident, exception: PythonException) -> Message | None:
    """What keeps an exception that is nobody's echo from being proof, or None."""
    if exception.thread is not None:
        return say(
            "CRA001.against_thread",
            "it was raised in a helper thread, so the process itself lived on",
        )
    again = sum(e.exception == exception.exception for e in incident.all(PythonException))
    told = exception.frames or exception.origin.rank is not None or again < _AGAIN
    if not told and not incident.timeouts and not incident.all(ProcessEnded):
        return say(
            "CRA001.against_logged",
            "only its last line is there: it may have been caught, and merely logged",
        )
    return (
        None
        if exception.exception
        else say("CRA001.against_cut", "the last line of the traceback is missing")
    )
