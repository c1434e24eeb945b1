"""From announcements and tables to the size of the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from unhang.model.events import CommunicatorStage, Event, StoreFault, WorldSeen
from unhang.model.incident import World


def find_world(events: Iterable[Event]) -> World:
    """The size of the job, where lines agree on one."""
    sizes: Counter[tuple[int, str]] = Counter()
    for event in events:
        if isinstance(event, WorldSeen) and event.world_size is not None:
            sizes[event.world_size, "announced by the job"] += 1
        elif isinstance(event, StoreFault) and event.expected is not None:
            sizes[event.expected, "expected at the rendezvous"] += 1
        elif isinstance(event, CommunicatorStage) and event.size is not None:
            sizes[event.size, "size of an NCCL communicator"] += 1
    if not sizes:
        return World()
    # Sub-groups have communicators too: the largest size is the world's.
    size, basis = max(sizes, key=lambda item: item[0])
    return World(size=size, basis=basis)
