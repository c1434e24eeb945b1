"""What else an incident holds that explains an error or a failure: then it may be an echo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from unhang.model.events import (
    ExceptionKind,
    ProcessEnded,
    PythonException,
    Reporter,
    StopKind,
    StopSeen,
)
from unhang.model.events.base import Seen
from unhang.model.ids import Ranks
from unhang.model.incident import Failure, Manner
from unhang.model.rule import Incident, Message, Strength, say
from unhang.rules.shared import order

_GONE = frozenset(
    {
        Manner.RAISED,
        Manner.GPU_OOM,
        Manner.HOST_OOM,
        Manner.KILLED,
        Manner.CRASHED,
        Manner.DEVICE,
    }
)
"""A process that went like this breaks the connections of its peers."""


def undated(incident: Incident, fact: order.Placed) -> Message | None:
    """That a fact was asked for afterwards, where ranks had timed out, or None."""
    if not order.is_told_later(fact) or not incident.timeouts:
        return None
    return _undated()


def untimed(incident: Incident, stop: StopSeen) -> Message | None:
    """That a host's own log tells when the host was shut down, and nothing when the job failed."""
    if stop.at is None or stop.kind is not StopKind.REMOVED or not stop.told_later:
        return None
    lost = (s for s in incident.all(StopSeen) if s.kind is StopKind.NODE_FAILED)
    signs: tuple[order.Placed, ...] = (*incident.failures, *incident.timeouts, *lost)
    return None if any(order.is_before(stop, sign) for sign in signs) else _undated()


def _undated() -> Message:
    return say(
        "crash.against_undated", "no time tells whether it came before the ranks began to wait"
    )


def of_errors(
    incident: Incident,
    found: Sequence[Seen],
    *,
    kin: frozenset[Manner] = frozenset(),
    after_timeout: bool = True,
) -> Message | None:
    """What may have brought some errors about instead of what they say, or None.

    Args:
        incident: the incident of the errors.
        found: the errors, the earliest first.
        kin: how processes fail by these errors; such failures are no rivals.
        after_timeout: whether an error that follows a collective's time-out is its echo.
    """
    first = found[0]
    if order.stop_before(incident, first) is not None:
        return say(
            "rival.stopped", "The job was stopped from outside before: this may be the echo."
        )
    gone = lost_rank(incident, found, kin)
    if gone is not None:
        return say(
            "rival.lost_rank",
            "Another process had failed by itself ({ranks:ranks}); broken connections follow"
            " from that.",
            ranks=_named(gone),
        )
    timed_out = order.first_timeout(incident)
    if after_timeout and timed_out is not None and order.is_before(timed_out, first):
        return say(
            "rival.after_timeout",
            "It was printed after a collective had timed out and ranks were ended.",
        )
    return None


def lost_rank(
    incident: Incident, found: Sequence[Seen], kin: frozenset[Manner] = frozenset()
) -> Failure | None:
    """Another process that failed by itself, and not after the errors."""
    told = {e.source for e in found}
    for failure in incident.failures:
        own = any(e.source in told for e in failure.events)
        own = own or any(_same_process(failure, e) or _ends_by(failure, e) for e in found)
        rival = failure.manner in _GONE and failure.manner not in kin and not own
        if rival and not order.is_before(found[0], failure):
            return failure
    return None


def of_a_failure(
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
            "the others began to wait more than half an hour after it: if the clocks agree, it "
            "belongs to an earlier run",
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


def _same_process(failure: Failure, fact: Seen) -> bool:
    """Whether an error was printed by, or tells of, the process that failed."""
    pids = {fact.origin.pid, getattr(fact, "pid", None)} - {None}
    ranks = {fact.origin.rank, getattr(fact, "rank", None)} - {None}
    return failure.pid in pids or failure.rank in ranks


def _ends_by(failure: Failure, fact: Seen) -> bool:
    """Whether a process says of its end that the error is why: `terminate called …`, `what(): …`.

    Both stand side by side, and neither line says whose they are.
    """
    end, told = failure.events[0], fact.source
    return (
        isinstance(end, ProcessEnded)
        and end.reporter is Reporter.SELF
        and end.origin == fact.origin
        and end.source.artifact == told.artifact
        and abs((end.source.line or 0) - (told.line or 0)) <= _SIDE_BY_SIDE
    )


_SIDE_BY_SIDE = 3


def _named(failure: Failure) -> Ranks | None:
    return None if failure.rank is None else frozenset({failure.rank})
