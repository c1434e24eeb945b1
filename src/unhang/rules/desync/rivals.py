"""What else an incident holds that would explain ranks out of step, and how much it weighs."""

from __future__ import annotations

from typing import NamedTuple

from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, ProcessEnded, PythonException, Reporter
from unhang.model.finding import Strength
from unhang.model.incident import Failure, Incident
from unhang.model.provenance import Message, say
from unhang.rules import order

ECHOES = frozenset(
    {
        Cause.TIMEOUT_SHORT,
        Cause.BANDWIDTH_LOW,
        Cause.CHECKPOINT_SLOW,
        Cause.DATA_SLOW,
        Cause.EVAL_SLOW,
        Cause.COMPILE_SLOW,
        Cause.P2P_FAULT,
        Cause.NET_INTERFACE,
        Cause.RDMA_FAULT,
        Cause.RENDEZVOUS,
        Cause.RANK_CRASH,
        Cause.EXTERNAL_STOP,
    }
)
"""Ranks out of step wait until they are ended; that looks like a slow phase or a slow network, and
their ends look like lost connections, crashes and stops."""


class Weight(NamedTuple):
    """How strong a finding may be, and what speaks against it."""

    strength: Strength
    against: Message | None = None


def weigh(incident: Incident, fact: order.Placed, otherwise: Strength) -> Weight:
    """Lower a strength where something earlier may have thrown the ranks out of step."""
    if order.stop_before(incident, fact) is not None:
        return Weight(
            Strength.HINTS, say("DSY.against_stop", "The job had been stopped from outside before.")
        )
    failure = next((f for f in incident.failures if _is_rival(f, fact)), None)
    if failure is not None:
        weaker = Strength.SUPPORTS if otherwise is Strength.PROVES else Strength.HINTS
        return Weight(
            weaker,
            say("DSY.against_failure", "{ranks:ranks} had failed before.", ranks=failure.rank),
        )
    return Weight(otherwise)


def _is_rival(failure: Failure, fact: order.Placed) -> bool:
    """A failure for a reason of its own, earlier than the fact.

    The mismatch's own exception, and the abort that it ends in, are no rivals of it.
    """
    if failure.manner not in order.DECISIVE or not order.is_before(failure, fact):
        return False
    event = failure.events[0]
    if isinstance(event, PythonException) and event.kind is ExceptionKind.MISMATCH:
        return False
    return not (isinstance(event, ProcessEnded) and event.reporter is Reporter.SELF)
