"""From the address of a GPU to the rank whose process computes on it.

NCCL says which address a rank has. Else nvidia-smi gives an address or a UUID its index on the
host, and the ranks of a host lie on its GPUs in order, one on each, as launchers and CUDA count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from unhang.model.events import CommunicatorStage, Event, GpuState, GpuUuid, WorldSeen
from unhang.model.host_lists import short_host
from unhang.model.ids import Rank
from unhang.model.pci import pci_address

_K = TypeVar("_K")
_V = TypeVar("_V")
_Place = tuple[str | None, str]
"""A host by its short name, and an address, `bus:device`."""


class GpuOwners:
    """Who computes on each GPU, as far as one set of events tells.

    Args:
        events: of one run.
        world_size: number of ranks, if known.
        first_on_host: the first rank of hosts that have theirs side by side, by short name.
    """

    def __init__(
        self,
        events: Iterable[Event],
        world_size: int | None,
        first_on_host: Mapping[str | None, Rank],
    ) -> None:
        events = list(events)
        told: dict[_Place, set[Rank]] = defaultdict(set)
        for event in events:
            if not isinstance(event, CommunicatorStage) or event.comm_rank is None:
                continue
            address = pci_address(event.bus_id or "")
            if address is not None and event.size is not None and event.size == world_size:
                told[short_host(event.origin.host), address].add(Rank(event.comm_rank))
        listed = _as_listed(events, world_size, first_on_host)
        self._owners = _in_order(events, world_size, first_on_host) | listed | _sure(told)

    def rank_of(self, host: str | None, device: str) -> Rank | None:
        """The rank on the GPU at a PCI address of a host; None where nothing makes it sure."""
        address = pci_address(device)
        if address is None:
            return None
        if (host, address) in self._owners:
            return self._owners[host, address]
        # The kernel's log may name no host, or another name of the only one.
        only = len({name for name, _ in self._owners}) == 1
        there = [rank for (_, at), rank in self._owners.items() if at == address]
        return there[0] if only and there else None


def _as_listed(
    events: Iterable[Event], world_size: int | None, first_on_host: Mapping[str | None, Rank]
) -> dict[_Place, Rank]:
    """The ranks of processes that a launcher lists beside the addresses of their GPUs.

    What counts from 0 counts ranks where one list tells of all of them.
    """
    seen = [e for e in events if isinstance(e, WorldSeen) and e.bus_id is not None]
    places = {e.local_rank for e in seen}
    whole = world_size in (None, len(places)) and len({e.source.artifact for e in seen}) == 1
    told: dict[_Place, set[Rank]] = defaultdict(set)
    for event in seen:
        host, address = short_host(event.origin.host), pci_address(event.bus_id or "")
        rank = event.rank
        if rank is None and event.local_rank is not None and (whole or host in first_on_host):
            first = 0 if whole else first_on_host[host]
            rank = Rank(first + event.local_rank)
        if rank is not None and address is not None:
            told[host, address].add(rank)
    return _sure(told)


def _in_order(
    events: Iterable[Event], world_size: int | None, first_on_host: Mapping[str | None, Rank]
) -> dict[_Place, Rank]:
    """The ranks of hosts whose GPUs are listed, by the index of each GPU."""
    by_uuid: dict[_Place, set[int]] = defaultdict(set)
    by_address: dict[_Place, set[int]] = defaultdict(set)
    uuids: list[tuple[_Place, str]] = []
    for event in events:
        host = short_host(event.origin.host)
        if isinstance(event, GpuUuid) and event.index is not None:
            by_uuid[host, event.uuid].add(event.index)
        elif isinstance(event, GpuState | GpuUuid):
            address = pci_address(event.bus_id or "")
            if address is not None and isinstance(event, GpuUuid):
                uuids.append(((host, address), event.uuid))
            elif address is not None and isinstance(event, GpuState):
                by_address[host, address].add(event.index)
    for (host, address), uuid in uuids:
        by_address[host, address] |= {
            index for (_, listed), found in by_uuid.items() if listed == uuid for index in found
        }
    gpus: dict[str | None, set[int]] = defaultdict(set)
    for (host, _), found in (by_address | by_uuid).items():
        gpus[host] |= found
    # All ranks on the one host that is listed, a GPU for each.
    alone = len(gpus) == 1 and all(len(found) == world_size for found in gpus.values())
    firsts = dict(first_on_host)
    if alone:
        firsts.setdefault(next(iter(gpus)), Rank(0))
    return {
        place: Rank(firsts[place[0]] + index)
        for place, index in _sure(by_address).items()
        if place[0] in firsts
    }


def _sure(told: Mapping[_K, set[_V]]) -> dict[_K, _V]:
    """What is told in one way alone."""
    return {key: next(iter(values)) for key, values in told.items() if len(values) == 1}
