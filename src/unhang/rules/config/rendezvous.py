"""What the rules on start-up share: which store fault counts, and whether it is an echo."""

from __future__ import annotations

from collections.abc import Iterable

from unhang.model.events import PhaseMark, Progress, PythonException, StoreFault, StoreProblem
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.provenance import Message, say
from unhang.rules.shared import order

_AFTER_START = frozenset({Phase.TRAIN, Phase.EVAL})
_EXIT_BARRIER = "_exit_barrier"
"""Where torchelastic's agents wait until all of them are done."""


def faults(incident: Incident, problems: Iterable[StoreProblem]) -> list[StoreFault]:
    """The store faults of these kinds, in reading order.

    Logged attempts are left out, and so is the agents' wait for each other when all is over.
    """
    wanted = frozenset(problems)
    handled = {
        (e.source.artifact, e.source.line)
        for e in incident.all(PythonException)
        if e.handled or any(frame.function == _EXIT_BARRIER for frame in e.frames)
    }
    return [
        f
        for f in incident.all(StoreFault)
        if f.problem in wanted and (f.source.artifact, f.source.line) not in handled
    ]


def why_echo(incident: Incident, fault: order.Placed) -> Message | None:
    """What makes the fault a consequence: a rank that failed first, a stop, or a job under way."""
    if order.stop_before(incident, fault) is not None:
        return say("rendezvous.against_stopped", "the job had been stopped from outside before")
    if order.decisive_failure_not_after(incident, fault) is not None:
        return say(
            "rendezvous.against_failure",
            "a process failed first; the others wait for a rank that is gone",
        )
    timed_out = order.first_timeout(incident)
    if timed_out is not None and order.is_before(timed_out, fault):
        return say(
            "rendezvous.against_timeout",
            "collectives had timed out before, so start-up had succeeded",
        )
    return None


def why_under_way(incident: Incident, fault: order.Placed) -> Message | None:
    """What shows that training had begun, so that the job was past its start-up."""
    for sign in incident.events:
        steps = isinstance(sign, Progress) and sign.done > 0 and sign.phase in _AFTER_START
        logged = isinstance(sign, PhaseMark) and sign.phase is Phase.TRAIN
        if (steps or logged) and order.is_before(sign, fault) is True:
            return say(
                "rendezvous.against_under_way",
                "training had begun before, so start-up had succeeded",
            )
    return None
