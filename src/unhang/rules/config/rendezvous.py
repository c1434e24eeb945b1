"""What the rules on start-up share: which store fault counts, and whether it is an echo."""

from __future__ import annotations

from collections.abc import Iterable

from unhang.model.events import PythonException, StoreFault, StoreProblem
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.rules import order


def faults(incident: Incident, problems: Iterable[StoreProblem]) -> list[StoreFault]:
    """The store faults of these kinds, in reading order; logged attempts are left out."""
    wanted = frozenset(problems)
    handled = {
        (e.source.artifact, e.source.line) for e in incident.all(PythonException) if e.handled
    }
    return [
        f
        for f in incident.all(StoreFault)
        if f.problem in wanted and (f.source.artifact, f.source.line) not in handled
    ]


def why_echo(incident: Incident, fault: StoreFault) -> Message | None:
    """What makes the fault a consequence: a rank that failed first, a stop, or a job under way."""
    if order.stop_before(incident, fault) is not None:
        return Message(key="rendezvous.against_stopped")
    if order.decisive_failure_not_after(incident, fault) is not None:
        return Message(key="rendezvous.against_failure")
    timed_out = order.first_timeout(incident)
    if timed_out is not None and order.is_before(timed_out, fault):
        return Message(key="rendezvous.against_timeout")
    return None
