"""Whether the task numbers of `srun` and `mpirun` are ranks of the job, or nodes.

With one task for each GPU a task is a rank; where each task is a launcher of its own (`torchrun`
on every node) it is a node. Only what the log shows decides; without any sign it is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from unhang.assemble.speakers import Grouped, named_rank, process_of
from unhang.model.events import (
    ClosingSignal,
    CommunicatorStage,
    Event,
    NcclFailure,
    ProcessEnded,
    Reporter,
    WorldSeen,
)

_LAUNCHERS = frozenset({Reporter.ELASTIC, Reporter.ELASTIC_TABLE, Reporter.SPAWN})
"""These start several ranks below one task."""


def tasks_are_ranks(events: Sequence[Event], world_size: int | None) -> bool:
    """Whether a task number names a global rank."""
    tasks = {task for e in events if (task := process_of(e).task) is not None}
    if not tasks or (world_size is not None and max(tasks) >= world_size):
        return False
    pairs = set(_named_pairs(events))
    if any(task != rank for task, rank in pairs):
        return False
    if any(rank > 0 for _, rank in pairs) or _counted_alike(events):
        return True
    if any(isinstance(e, ProcessEnded) and e.reporter in _LAUNCHERS for e in events):
        return False
    return (
        max(tasks) + 1 == world_size
        or _several_on_one_host(events)
        or any(isinstance(e, ProcessEnded) and e.reporter is Reporter.MPI for e in events)
    )


def _named_pairs(events: Iterable[Event]) -> Iterable[tuple[int, int]]:
    """Task and global rank, where one event names both."""
    for event in events:
        named = named_rank(event)
        rank = event.origin.rank if named is None else named
        task = process_of(event).task
        if task is not None and rank is not None:
            yield task, int(rank)


def _counted_alike(events: Iterable[Event]) -> bool:
    """Tasks whose ranks in the group of the job, or in a nameless group, are their numbers."""
    pairs = {
        (e.origin.task, int(e.group_rank))
        for e in events
        if isinstance(e, Grouped)
        and e.origin.task is not None
        and e.group_rank is not None
        and (e.group is None or e.group.is_default)
    }
    return any(rank > 0 for _, rank in pairs) and all(task == rank for task, rank in pairs)


def _several_on_one_host(events: Iterable[Event]) -> bool:
    """A scheduler that has several tasks on one host started one for each GPU.

    Who ended and what NCCL prints name the host themselves; a file may be named after another.
    """
    by_host: dict[str, set[int]] = defaultdict(set)
    for event in events:
        host, _, pid, task = process_of(event)
        named = isinstance(event, ProcessEnded | ClosingSignal | WorldSeen) and bool(event.host)
        by_nccl = isinstance(event, NcclFailure | CommunicatorStage) and pid is not None
        if host is not None and task is not None and (named or by_nccl):
            by_host[host].add(task)
    return any(len(tasks) > 1 for tasks in by_host.values())
