"""What the loss of a rank makes other rules see, and what makes such a loss itself an echo."""

from __future__ import annotations

from collections.abc import Callable

from unhang.model.causes import Cause
from unhang.model.incident import Failure, Incident
from unhang.model.provenance import Message, say
from unhang.rules import order

NO_CAUSES: frozenset[Cause] = frozenset()

ECHOES_OF_A_LOST_RANK = frozenset(
    {
        Cause.RANK_EXCEPTION,
        Cause.RANK_CRASH,
        Cause.RENDEZVOUS,
        Cause.NET_INTERFACE,
        Cause.RDMA_FAULT,
        Cause.P2P_FAULT,
        Cause.BANDWIDTH_LOW,
        Cause.CHECKPOINT_SLOW,
        Cause.DATA_SLOW,
        Cause.EVAL_SLOW,
        Cause.COMPILE_SLOW,
        Cause.UNEVEN_WORK,
        Cause.PG_DEADLOCK,
        Cause.TIMEOUT_SHORT,
        Cause.EXTERNAL_STOP,
    }
)
"""A rank that is gone closes its connections, leaves collectives unanswered, and makes launchers,
schedulers and people stop the rest."""

ECHOES_OF_A_STOP = frozenset(Cause) - {Cause.EXTERNAL_STOP}
"""Where nothing was wrong before the stop, everything after it is its echo."""


def why_echo(
    incident: Incident,
    failure: order.Placed,
    same: Callable[[Failure], bool] = lambda _: False,
) -> Message | None:
    """What came before a failure and may have brought it about, or None.

    Args:
        incident: what is known.
        failure: the failure in question.
        same: tells the failures that are this one, as somebody else saw it.
    """
    if order.is_of_an_earlier_run(incident, failure):
        return say(
            "crash.against_long_before",
            "the others began to wait more than half an hour after it: it is an earlier run's,"
            " if the clocks agree",
        )
    if order.stop_before(incident, failure) is not None:
        return say("crash.against_stopped", "the job had been stopped from outside before")
    earlier = (f for f in order.decisive_failures_before(incident, failure) if not same(f))
    if next(earlier, None) is not None:
        return say("crash.against_earlier_failure", "another process had failed before")
    timed_out = order.first_timeout(incident)
    if timed_out is not None and order.is_before(timed_out, failure):
        return say("crash.against_late", "a collective had already timed out before")
    return None
