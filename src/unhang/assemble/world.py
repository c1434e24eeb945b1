"""From announcements and tables to the size of the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from unhang.model.events import CommunicatorStage, Event, StoreFault, WorldSeen
from unhang.model.ids import MOST_RANKS
from unhang.model.incident import World
from unhang.parsers.vocabulary.store_messages import LATER_GROUP


def find_world(events: Iterable[Event]) -> World:
    """The size of the job, where lines agree on one; a size that no job has is not believed."""
    sizes: Counter[tuple[int, str]] = Counter()
    for event in events:
        if isinstance(event, WorldSeen) and event.world_size is not None:
            sizes[event.world_size, "announced by the job"] += 1
        elif isinstance(event, StoreFault) and event.expected is not None:
            if LATER_GROUP.search(event.key or ""):
                continue
            sizes[event.expected, "expected at the rendezvous"] += 1
        elif isinstance(event, CommunicatorStage) and event.size is not None:
            sizes[event.size, "size of an NCCL communicator"] += 1
    # Sub-groups have communicators too: the largest size is the world's.
    credible = (told for told in sizes if 0 < told[0] <= MOST_RANKS)
    size, basis = max(credible, key=lambda told: told[0], default=(None, None))
    return World(size=size, basis=basis)
