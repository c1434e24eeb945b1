"""From prefixes, tables and announcements to the global rank of who printed an event.

Global, group, local rank and task number are different things. A rank is resolved only where
something says so; otherwise it stays unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from unhang.model.events import (
    CollectiveTimeout,
    CommunicatorStage,
    DumpSignal,
    Event,
    GroupStatus,
    NcclFailure,
    PhaseMark,
    ProcessEnded,
    Progress,
    WatchdogAborted,
    WatchdogStuck,
    WorldSeen,
)
from unhang.model.ids import LocalRank, Rank

_Grouped = CollectiveTimeout | GroupStatus | WatchdogAborted | WatchdogStuck | DumpSignal


class Identity:
    """Resolves events to global ranks with everything that one set of events tells."""

    def __init__(self, events: Iterable[Event], world_size: int | None) -> None:
        events = list(events)
        self._world_size = world_size
        self._by_pid: dict[tuple[str | None, int], Rank] = {}
        self._by_local: dict[tuple[str | None, LocalRank], Rank] = {}
        self._hosts: set[str] = set()
        self._first_on_host: dict[str, Rank] = {}
        self._learn(events)
        self._learn_communicators(events)
        self._local_is_global = self._check_local(events)
        self._task_is_rank = self._check_tasks(events)
        self._group_is_global = self._check_groups(events)

    def rank_of(self, event: Event) -> Rank | None:
        """The global rank that `event` is about, or None where nothing tells it."""
        named = _named(event)
        if named is not None:
            return named
        if event.origin.rank is not None:
            return event.origin.rank
        by_process = self._rank_from_process(event)
        return self._rank_from_group(event) if by_process is None else by_process

    def sign(self, event: Event) -> Event:
        """`event` with the rank of the process that printed it in its origin, where known.

        Rules see the same rank whether a prefix, a pid, a local rank or a communicator told it.
        """
        if event.origin.rank is not None or isinstance(event, ProcessEnded | WorldSeen):
            return event
        rank = self._rank_from_process(event)
        return event if rank is None else replace(event, origin=replace(event.origin, rank=rank))

    def is_global(self, event: _Grouped) -> bool:
        """Whether the rank of a grouped event is certainly global, not the group's."""
        if event.origin.rank is not None or self._rank_from_process(event) is not None:
            return True
        return event.group is not None and event.group.is_default

    def _rank_from_process(self, event: Event) -> Rank | None:
        """By pid, by local rank, by task number."""
        host, local, pid, task = _process(event)
        if pid is not None:
            for key in ((host, pid), (None, pid)):
                if key in self._by_pid:
                    return self._by_pid[key]
        if local is not None:
            if (host, local) in self._by_local:
                return self._by_local[host, local]
            if self._local_is_global:
                return Rank(int(local))
        if task is not None and self._task_is_rank:
            return Rank(task)
        if isinstance(event, NcclFailure) and host is not None and event.device is not None:
            first = self._first_on_host.get(host)
            return None if first is None else Rank(first + event.device)
        return None

    def _rank_from_group(self, event: Event) -> Rank | None:
        """`[Rank 3]` is global in the world group, and where no sub-group was ever seen."""
        if not isinstance(event, _Grouped) or event.group_rank is None:
            return None
        if event.group is not None and event.group.is_default:
            return Rank(int(event.group_rank))
        return Rank(int(event.group_rank)) if self._group_is_global else None

    def _learn(self, events: list[Event]) -> None:
        """Collect (host, pid) -> rank and (host, local rank) -> rank."""
        for event in events:
            host, local, pid, _ = _process(event)
            if host is not None:
                self._hosts.add(host)
            rank = _named(event)
            if rank is None:
                rank = event.origin.rank
            if rank is None:
                continue
            if pid is not None:
                self._by_pid.setdefault((host, pid), rank)
                self._by_pid.setdefault((None, pid), rank)
            if local is not None:
                self._by_local.setdefault((host, local), rank)

    def _learn_communicators(self, events: list[Event]) -> None:
        """Ranks of the communicator of the world are global, and a host's lie side by side.

        The second is NCCL's own layout (`localRank`), taken only where all lines of a host agree.
        """
        firsts: dict[str, set[int]] = defaultdict(set)
        for event in events:
            if not isinstance(event, CommunicatorStage) or event.comm_rank is None:
                continue
            if event.size is None or event.size != self._world_size:
                continue
            host, pid = event.origin.host, event.origin.pid
            if pid is not None:
                self._by_pid.setdefault((host, pid), Rank(event.comm_rank))
            if host is not None and event.device is not None:
                firsts[host].add(event.comm_rank - event.device)
        for host, found in firsts.items():
            first = next(iter(found))
            if len(found) == 1 and first >= 0:
                self._first_on_host[host] = Rank(first)

    def _check_local(self, events: list[Event]) -> bool:
        """Local ranks are global ones on a single host, and never where a pair contradicts."""
        if any(int(local) != int(rank) for (_, local), rank in self._by_local.items()):
            return False
        locals_seen = {lo for _, lo, _, _ in map(_process, events) if lo is not None}
        if self._world_size is not None:
            return self._world_size <= max(map(int, locals_seen), default=-1) + 1
        highest = max((int(r) for r in _ranks_seen(events)), default=-1)
        return len(self._hosts) <= 1 and highest <= max(map(int, locals_seen), default=-1)

    def _check_tasks(self, events: list[Event]) -> bool:
        """`srun --label` numbers are ranks with one task for each GPU, nodes otherwise."""
        pairs = [
            (e.origin.task, e.origin.rank)
            for e in events
            if e.origin.task is not None and e.origin.rank is not None
        ]
        if pairs:
            return all(task == rank for task, rank in pairs)
        tasks = {e.origin.task for e in events if e.origin.task is not None}
        return self._world_size is not None and max(tasks, default=-1) + 1 == self._world_size

    def _check_groups(self, events: list[Event]) -> bool:
        """No pair of global and group rank differs, and no group but the world was named."""
        for event in events:
            if not isinstance(event, _Grouped) or event.group_rank is None:
                continue
            if event.origin.rank is not None and int(event.group_rank) != int(event.origin.rank):
                return False
        ranks = defaultdict(set)
        for event in events:
            if isinstance(event, CollectiveTimeout) and event.origin.rank is not None:
                ranks[event.group_rank].add(event.origin.rank)
        return all(len(found) == 1 for found in ranks.values())


def _named(event: Event) -> Rank | None:
    """The global rank that the event's own text names."""
    if isinstance(event, ProcessEnded | WorldSeen | PhaseMark | Progress):
        return event.rank
    return None


def _process(event: Event) -> tuple[str | None, LocalRank | None, int | None, int | None]:
    """(host, local rank, pid, task) that an event names, its own fields before its origin."""
    origin = event.origin
    host, local, pid, task = origin.host, origin.local_rank, origin.pid, origin.task
    if isinstance(event, ProcessEnded):
        # The launcher prints this line; its own origin says nothing of the process that ended.
        return event.host or host, event.local_rank, event.pid, event.task
    if isinstance(event, WorldSeen):
        return (
            event.host or host,
            local if event.local_rank is None else event.local_rank,
            pid if event.pid is None else event.pid,
            task,
        )
    return host, local, pid, task


def _ranks_seen(events: Iterable[Event]) -> set[Rank]:
    """All global ranks that lines are printed by."""
    return {e.origin.rank for e in events if e.origin.rank is not None}
