"""Who printed a fact: ranks and hosts, as far as anything tells them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from unhang.model.events import CommunicatorStage, DumpSignal, NcclFailure, NcclReason, WorldSeen
from unhang.model.events.base import Seen
from unhang.model.ids import NO_RANKS, Rank, Ranks, RankSpans
from unhang.model.incident import Incident
from unhang.model.provenance import Origin
from unhang.rules.shared import ends, order

S = TypeVar("S", bound=Seen)


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


def of_dump(signal: DumpSignal) -> Rank | None:
    """The global rank that dumps, by its prefix or as a member of the group of all ranks."""
    if signal.origin.rank is not None:
        return signal.origin.rank
    if signal.group is not None and signal.group.is_default and signal.group_rank is not None:
        return Rank(int(signal.group_rank))
    return None


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
    # Ranks are counted from 0: whoever speaks as rank 14 has fourteen others beside it.
    counted = max(map(int, known | found), default=-1) + 1
    size = incident.world.size or max(counted, len(known | found) + incident.gave_up_unnamed)
    return NO_RANKS if len(found) > 1 and 2 * len(found) > size else found


def unless_all(incident: Incident, found: Ranks) -> Ranks:
    """`found`, unless it is everybody: then none of them is special.

    Ranks are counted from 0: where 4 to 7 are named, there are others.
    """
    some = len(found) <= 1 or max(map(int, found)) >= len(found)
    return found if some or not are_all(found, NO_RANKS, incident) else NO_RANKS


def hosts(events: Iterable[Seen]) -> frozenset[str]:
    """Hosts that printed `events`."""
    return frozenset(e.origin.host for e in events if e.origin.host is not None)


def ranks_on(incident: Incident, names: Iterable[str]) -> Ranks:
    """All ranks of some hosts; none where it is not sure that all of them are known.

    Tables list them, or some are known and the ranks of the job lie side by side on hosts that have
    as many each.
    """
    wanted = {ends.host_of(incident, name) for name in names}
    on_host: dict[str | None, set[Rank]] = defaultdict(set)
    for facts in incident.roster.values():
        on_host[ends.host_of(incident, facts.host)].add(facts.rank)
    known = frozenset(r for name in wanted for r in on_host.get(name, set()))
    size = incident.world.size
    named = sum(len(ranks) for host, ranks in on_host.items() if host is not None)
    if not known or None in wanted:
        return NO_RANKS
    if named == size or named == len(incident.roster) == _listed(incident):
        return known
    if _fill_one_more_host(on_host, size) or _fill_all(on_host):
        return known
    return whole_nodes(incident, known, len(wanted))


def _fill_one_more_host(on_host: Mapping[str | None, set[Rank]], size: int | None) -> bool:
    """Whether the ranks whose host nobody names are as many as those of each host that is named.

    The lines of the host that collects the others' often name none.
    """
    each = {len(ranks) for host, ranks in on_host.items() if host is not None}
    several = len(on_host.keys() - {None}) > 1
    known = frozenset[Rank]().union(*on_host.values())
    whole = len(known) == (max(known, default=-1) + 1 if size is None else size)
    return several and whole and len(each) == 1 and len(on_host.get(None, ())) in each


def _fill_all(on_host: Mapping[str | None, set[Rank]]) -> bool:
    """Whether the known ranks go from 0 on without a gap, as many on each of several hosts."""
    told = sorted(rank for ranks in on_host.values() for rank in ranks)
    each = {len(ranks) for ranks in on_host.values()}
    return None not in on_host and len(on_host) > 1 and len(each) == 1 and told[-1] + 1 == len(told)


def whole_nodes(incident: Incident, known: Ranks, nodes: int) -> Ranks:
    """All ranks of so many nodes, of which some are `known`; none where it is not sure."""
    each = {w.local_world_size for w in incident.all(WorldSeen) if w.local_world_size}
    if len(each) != 1:
        return NO_RANKS
    (count,) = each
    blocks = {rank // count for rank in known}
    if len(blocks) != nodes or (incident.world.size is not None and incident.world.size % count):
        return NO_RANKS
    return frozenset(Rank(block * count + place) for block in blocks for place in range(count))


def node_beside(world: RankSpans, others: Ranks) -> Ranks:
    """The ranks of the one node that `others` leave, where these fill all other nodes.

    Nodes have as many ranks each, side by side.
    """
    left = sorted(world - others)
    each = len(left)
    whole = others and left and left[-1] - left[0] + 1 == each
    if not whole or len(world) % each or left[0] % each or not others <= world:
        return NO_RANKS
    return frozenset(map(Rank, left))


def _listed(incident: Incident) -> int:
    """How many ranks the job's own tables list."""
    return len({w.rank for w in incident.all(WorldSeen) if w.listed and w.rank is not None})


def minority_hosts(incident: Incident, events: Iterable[Seen]) -> frozenset[str]:
    """Hosts that printed `events`, unless most hosts of the job did."""
    found = hosts(events)
    return frozenset() if len(found) > 1 and 2 * len(found) > len(hosts(incident.events)) else found


def are_all(named: Ranks, heard: Ranks, incident: Incident) -> bool:
    """Whether `named` are all ranks of the job, or all of which anything is known."""
    if incident.world.ranks is not None:
        return not incident.world.ranks - named
    known = incident.gave_up | heard | incident.coverage.ranks_seen
    return len(known) > 0 and named >= known
