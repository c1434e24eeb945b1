"""From announcements, tables and the sizes of gathers to the size of the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from unhang.model.events import (
    CollectiveTimeout,
    CommunicatorStage,
    Event,
    GroupStatus,
    StoreFault,
    WorldSeen,
)
from unhang.model.ids import MOST_RANKS
from unhang.model.incident import World
from unhang.parsers.vocabulary.store_messages import LATER_GROUP


def find_world(events: Iterable[Event]) -> World:
    """The size of the job, where lines agree on one; a size that no job has is not believed."""
    sizes: Counter[tuple[int, str]] = Counter()
    gathers = []
    of_the_world: set[int | None] = set()
    for event in events:
        if isinstance(event, CollectiveTimeout):
            gathers.append(event)
        elif isinstance(event, GroupStatus):
            if event.group is not None and event.group.is_default:
                of_the_world.add(event.failed)
        elif isinstance(event, WorldSeen) and event.world_size is not None:
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
    return _by_gathers(gathers, of_the_world) if size is None else World(size=size, basis=basis)


_GATHERS = frozenset({"ALLGATHER", "_ALLGATHER_BASE", "ALLGATHER_INTO_TENSOR_COALESCED"})
_SCATTERS = frozenset({"REDUCE_SCATTER", "_REDUCE_SCATTER_BASE"})


def _by_gathers(
    timeouts: Iterable[CollectiveTimeout], of_the_world: Collection[int | None]
) -> World:
    """A gather brings together one part of each rank: its sizes tell how many there are.

    The group may be a part of the job, so this counts only where it is the world group by name, or
    where all but one of its ranks are seen to wait in it, numbered from 0: then it is that group
    which the ranks are counted in.
    """
    found: Counter[int] = Counter()
    ranks: dict[int, set[int]] = {}
    default: set[int] = set()
    for event in timeouts:
        size = _members(event)
        if size is None:
            return World()
        found[size] += 1
        rank = event.group_rank if event.group_rank is not None else event.origin.rank
        ranks.setdefault(size, set()).update(() if rank is None else (int(rank),))
        named = event.group is not None and event.group.is_default
        if named or (event.seq is not None and event.seq in of_the_world):
            default.add(size)
    if len(found) != 1:
        return World()
    (size,) = found
    seen = ranks[size]
    if size > MOST_RANKS or any(rank >= size for rank in seen):
        return World()
    whole = size in default or len(seen) >= size - 1
    return World(size=size, basis="sizes of a gather over all ranks") if whole else World()


def _members(event: CollectiveTimeout) -> int | None:
    """How many ranks take part, by the sizes; None where they do not tell."""
    if not event.numel_in or not event.numel_out:
        return None
    large, small = event.numel_out, event.numel_in
    if event.op in _SCATTERS:
        large, small = small, large
    elif event.op not in _GATHERS:
        return None
    return large // small if large % small == 0 and large > small else None
