"""Who tells a fact, and what else in the incident could have brought it about.

Shared by the families that judge errors of the network and of devices: such an error is often the
echo of a rank that died, of a stop, or of a watchdog that ended the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from unhang.model.events import CommunicatorStage, NcclFailure, NcclReason
from unhang.model.events.base import Seen
from unhang.model.finding import Strength
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Failure, Incident, Manner
from unhang.model.provenance import Message, Origin, say
from unhang.rules import order

S = TypeVar("S", bound=Seen)

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


def nccl(incident: Incident, *reasons: NcclReason) -> list[NcclFailure]:
    """NCCL's errors and warnings with one of the reasons, the earliest first."""
    return in_order(e for e in incident.all(NcclFailure) if e.reason in reasons)


def in_order(events: Iterable[S]) -> list[S]:
    """`events` with the one that came first in front; the others as they were read."""
    found = list(events)
    first = order.earliest(found)
    return [] if first is None else [first, *(e for e in found if e is not first)]


def rank_of(incident: Incident, event: Seen) -> Rank | None:
    """The global rank that printed `event`, from its prefix or from its process."""
    origin = event.origin
    if origin.rank is not None:
        return origin.rank
    if origin.pid is None:
        return None
    owners = {
        facts.rank
        for facts in incident.roster.values()
        if origin.pid in facts.pids
        and (None in (origin.host, facts.host) or facts.host == origin.host)
    }
    owners |= _members(incident, origin)
    return next(iter(owners)) if len(owners) == 1 else None


def _members(incident: Incident, origin: Origin) -> set[Rank]:
    """Ranks of a process in the communicator of the world, whose numbers are the global ones."""
    return {
        Rank(stage.comm_rank)
        for stage in incident.all(CommunicatorStage)
        if stage.comm_rank is not None
        and stage.size == incident.world.size
        and (stage.origin.host, stage.origin.pid) == (origin.host, origin.pid)
    }


def ranks(incident: Incident, events: Iterable[Seen]) -> Ranks:
    """Ranks that printed `events`, as far as they are known."""
    return frozenset(r for e in events if (r := rank_of(incident, e)) is not None)


def minority(incident: Incident, events: Sequence[Seen]) -> Ranks:
    """Ranks that printed `events`, unless so many did that none of them is special."""
    found = ranks(incident, events)
    known = frozenset(incident.roster) | incident.gave_up
    size = incident.world.size or len(known | found) + incident.gave_up_unnamed
    return NO_RANKS if len(found) > 1 and 2 * len(found) > size else found


def hosts(events: Iterable[Seen]) -> frozenset[str]:
    """Hosts that printed `events`."""
    return frozenset(e.origin.host for e in events if e.origin.host is not None)


def minority_hosts(incident: Incident, events: Iterable[Seen]) -> frozenset[str]:
    """Hosts that printed `events`, unless most hosts of the job did."""
    found = hosts(events)
    return frozenset() if len(found) > 1 and 2 * len(found) > len(hosts(incident.events)) else found


def rival(
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
        own = own or any(_same_process(failure, e) for e in found)
        rival = failure.manner in _GONE and failure.manner not in kin and not own
        if rival and not order.is_before(found[0], failure):
            return failure
    return None


def weaker(strength: Strength, against: Message | None) -> Strength:
    """A claim with a rival explanation is but a hint."""
    return strength if against is None else Strength.HINTS


def _same_process(failure: Failure, fact: Seen) -> bool:
    """Whether an error was printed by, or tells of, the process that failed."""
    pids = {fact.origin.pid, getattr(fact, "pid", None)} - {None}
    ranks = {fact.origin.rank, getattr(fact, "rank", None)} - {None}
    return failure.pid in pids or failure.rank in ranks


def _named(failure: Failure) -> Ranks | None:
    return None if failure.rank is None else frozenset({failure.rank})
