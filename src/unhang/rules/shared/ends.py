"""From addresses and pairs of hosts to the one host that they have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from unhang.model.events import HostAddress, InterfaceUsed, NcclFailure
from unhang.model.host_lists import short_host
from unhang.model.incident import Incident
from unhang.rules.shared.addresses import leads_nowhere


def host_of(incident: Incident, name: str | None) -> str | None:
    """The host that has an address, where one host alone has it; a name is itself."""
    if name is None:
        return None
    bare = name.partition("<")[0].strip("[]")
    owners = _owners(incident).get(bare, set())
    if len(owners) == 1:
        return next(iter(owners))
    return None if owners else short_host(name)


def owners_of(incident: Incident, address: str) -> frozenset[str]:
    """All hosts that have an address or an interface of this name."""
    return frozenset(_owners(incident).get(address, ()))


def _owners(incident: Incident) -> dict[str, set[str]]:
    owners: dict[str, set[str]] = defaultdict(set)
    for told in incident.all(HostAddress):
        host = short_host(told.host)
        if host is not None:
            owners[told.address].add(host)
    for used in incident.all(InterfaceUsed):
        host = short_host(used.origin.host)
        if host is not None:
            owners[used.interface].add(host)
            if used.address is not None:
                owners[used.address].add(host)
    return owners


def of_all(pairs: Iterable[tuple[str | None, str | None]]) -> frozenset[str]:
    """The one host that is an end of all of at least two pairs.

    A pair of which one end is unknown counts by its other end.
    """
    edges = {frozenset({one, other} - {None}) for one, other in pairs if one != other}
    if len(edges) < 2:
        return frozenset()
    common = frozenset.intersection(*edges)
    return (
        frozenset(host for host in common if host is not None) if len(common) == 1 else frozenset()
    )


def without_common_interface(incident: Incident) -> frozenset[str]:
    """The one of several hosts that lacks the interface by which all others are reached."""
    names: dict[str, set[str]] = defaultdict(set)
    for told in incident.all(HostAddress):
        if told.interface and told.host:
            names[told.host].add(told.interface)
    usable = {h: {n for n in all_ if not leads_nowhere(n)} for h, all_ in names.items()}
    lacking = {h for name in set().union(*usable.values()) for h in [_lone(usable, name)] if h}
    return frozenset(lacking) if len(lacking) == 1 and len(usable) > 2 else frozenset()


def _lone(usable: dict[str, set[str]], name: str) -> str | None:
    """The only host without an interface of this name."""
    without = [host for host, names in usable.items() if name not in names]
    return without[0] if len(without) == 1 else None


def of_failed(incident: Incident, found: Iterable[NcclFailure]) -> frozenset[str]:
    """The one host that is an end of all connections that failed."""
    return of_all(
        (short_host(e.origin.host), host_of(incident, e.peer)) for e in found if e.peer is not None
    )
