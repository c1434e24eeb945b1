"""From prefixes, tables and announcements to the global rank of who printed an event.

Global, group, local rank and task number are different things. A rank is resolved only where
something says so; otherwise it stays unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from unhang import lazy_re as re
from unhang.assemble.children import Children
from unhang.assemble.gpu_owners import GpuOwners
from unhang.assemble.numbering import ranks_alone, ranks_by_file, several_alone
from unhang.assemble.speakers import (
    Grouped,
    SpeakerProcess,
    host_names,
    named_rank,
    process_of,
    tells_of_another,
)
from unhang.assemble.tasks import tasks_are_ranks
from unhang.model.events import (
    CollectiveTimeout,
    CommunicatorStage,
    DeviceFault,
    Event,
    ExceptionKind,
    HostReport,
    KernelEvent,
    NcclFailure,
    ProcessEnded,
    PythonException,
    Reporter,
    WorldSeen,
)
from unhang.model.ids import NO_RANKS, LocalRank, Rank, Ranks

_TENSOR_RANK = re.compile(r"(?:Worker_)?TP(?P<rank>\d{1,6})(?:[ _]EP\d{1,6})?")
"""SGLang's and vLLM's mark; they add DP and PP where ranks are not counted by tensors alone.

vllm/v1/executor/multiproc_executor.py names each axis whose size is above one (0.11, 2026-11).
"""
_MOST_ON_A_HOST = 1 << 10
_NAMES_ITSELF = re.compile(
    r"\[?(?:global )?rank ?[=#:]? ?(?P<rank>\d{1,6})\]? ?[:|]", re.IGNORECASE
)
"""How a message begins that a program gives an error with the rank that raises it."""


class Identity:
    """Resolves events to global ranks with everything that one set of events tells."""

    def __init__(
        self,
        events: Iterable[Event],
        world_size: int | None,
        children: Children | None = None,
    ) -> None:
        events = list(events)
        self._world_size = world_size
        self.several = world_size == 1 and several_alone(events)
        self._by_pid: dict[tuple[str | None, int], Rank] = {}
        self._by_local: dict[tuple[str | None, LocalRank], Rank] = {}
        self._by_host: dict[str | None, Rank] = {}
        self._started: dict[int, set[LocalRank]] = defaultdict(set)
        self._hosts: set[str] = set()
        self._names = host_names(events)
        self._first_on_host: dict[str | None, Rank] = {}
        each = {e.local_world_size for e in events if isinstance(e, WorldSeen)} - {None}
        self._each = each.pop() if len(each) == 1 else None
        self._learn(events)
        self._learn_communicators(events)
        self._learn_places(events)
        self._learn_devices(events)
        self._gpus = GpuOwners(events, world_size, self._first_on_host)
        if children is not None and children.count == world_size:
            for pid, rank in children.ranks.items():
                self._by_pid.setdefault((None, pid), rank)
        self._ranks_of_pid: dict[int, Ranks] = {}
        for (_, pid), rank in self._by_pid.items():
            self._ranks_of_pid[pid] = self._ranks_of_pid.get(pid, NO_RANKS) | {rank}
        self._local_is_global = self._check_local(events)
        told = {e.rank for e in events if isinstance(e, WorldSeen) and not e.listed} - {None}
        self._announced = len(told) if told == set(range(len(told))) else 0
        self._devices = {
            e.device for e in events if isinstance(e, DeviceFault) and e.device is not None
        }
        self._task_is_rank = tasks_are_ranks(events, world_size)
        self._group_is_global = self._check_groups(events)
        self._by_file: dict[str, Rank] = {}
        self._by_file = self._number_files(events)

    def rank_of(self, event: Event) -> Rank | None:
        """The global rank that `event` is about, or None where nothing tells it."""
        if self.several:
            return None
        named = named_rank(event)
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
        if self.several:
            return event
        if isinstance(event, KernelEvent | HostReport) and event.device is not None:
            host = self._process_of(event).host
            owner = self._gpus.rank_of(host, event.device)
            pid = event.pid if isinstance(event, KernelEvent) else None
            if owner is not None or pid is None:
                # Whoever prints a report need not compute on the GPU that it is about.
                return _signed(event, owner)
        if event.origin.rank is not None or isinstance(event, ProcessEnded | WorldSeen):
            return event
        rank = self._rank_from_process(event)
        return event if rank is None else _signed(event, rank)

    def is_global(self, event: Grouped) -> bool:
        """Whether the rank of a grouped event is certainly global, not the group's."""
        if event.origin.rank is not None or self._rank_from_process(event) is not None:
            return True
        return event.group is not None and event.group.is_default

    def _rank_from_process(self, event: Event) -> Rank | None:
        """By pid, by local rank, by task number."""
        host, local, pid, task = self._process_of(event)
        if pid is not None:
            foreign = isinstance(event, KernelEvent)
            if (found := self._rank_from_pid(host, pid, foreign)) is not None:
                return found
            if local is None and len(started := self._started.get(pid, ())) == 1:
                local = next(iter(started))
        if local is not None:
            if (host, local) in self._by_local:
                return self._by_local[host, local]
            if host in self._first_on_host:
                return Rank(self._first_on_host[host] + int(local))
            if self._local_is_global:
                return Rank(int(local))
        if task is not None and self._task_is_rank:
            return Rank(task)
        if host in self._by_host and not isinstance(event, KernelEvent):
            return self._by_host[host]
        if (named := _rank_from_words(event)) is not None:
            return named
        if (by_device := self._rank_from_device(event, host)) is not None:
            return by_device
        return self._rank_from_file(event)

    def _rank_from_file(self, event: Event) -> Rank | None:
        """By the file that one rank prints into, and the shell that started it."""
        by_its_shell = isinstance(event, ProcessEnded) and event.reporter is Reporter.SHELL
        own = by_its_shell or not tells_of_another(event)
        return self._by_file.get(event.source.artifact) if own else None

    def _rank_from_device(self, event: Event, host: str | None) -> Rank | None:
        """By the index of its GPU: NCCL's counts on the host, CUDA's as the process sees them."""
        if isinstance(event, NcclFailure) and host is not None and event.device is not None:
            first = self._first_on_host.get(host)
            return None if first is None else Rank(first + event.device)
        if not isinstance(event, DeviceFault):
            return None
        if self._is_numbered_by_rank(event.device):
            return Rank(event.device or 0)
        # On a host whose first rank is known, where processes see all GPUs of it.
        if (
            event.device
            and host in self._first_on_host
            and event.device < (self._each or _MOST_ON_A_HOST)
        ):
            return Rank(self._first_on_host[host] + event.device)
        return None

    def _process_of(self, event: Event) -> SpeakerProcess:
        """What an event names of its process, each host by one name."""
        process = process_of(event)
        return process._replace(host=self._names.get(process.host or "", process.host))

    def _rank_from_pid(self, host: str | None, pid: int, foreign: bool) -> Rank | None:
        """By host and pid, else by a pid that only one rank has.

        A host has several names (of a file, of a table), so another name does not count against a
        match; in a `foreign` log, such as the kernel's, it does.
        """
        if (host, pid) in self._by_pid:
            return self._by_pid[host, pid]
        if foreign and host is not None:
            return self._by_pid.get((None, pid))
        ranks = self._ranks_of_pid.get(pid, NO_RANKS)
        return next(iter(ranks)) if len(ranks) == 1 else None

    def _rank_from_group(self, event: Event) -> Rank | None:
        """`[Rank 3]` is global in the world group, and where no sub-group was ever seen."""
        if not isinstance(event, Grouped) or event.group_rank is None:
            return None
        if event.group is not None and event.group.is_default:
            return Rank(int(event.group_rank))
        return Rank(int(event.group_rank)) if self._group_is_global else None

    def _learn(self, events: list[Event]) -> None:
        """Collect (host, pid) -> rank and (host, local rank) -> rank, and hosts of one rank."""
        listed: dict[tuple[str | None, int], set[Rank]] = defaultdict(set)
        hosts: dict[str, set[Rank]] = defaultdict(set)
        places: dict[tuple[str | None, LocalRank], set[Rank]] = defaultdict(set)
        for event in events:
            host, local, pid, _ = self._process_of(event)
            if host is not None:
                self._hosts.add(host)
            rank = named_rank(event)
            if rank is None:
                rank = event.origin.rank
            if rank is None:
                if isinstance(event, WorldSeen) and pid is not None and local is not None:
                    self._started[pid].add(local)  # by the launcher that counts them
                continue
            if host is not None:
                hosts[host].add(rank)
            if pid is not None and isinstance(event, WorldSeen):
                listed[host, pid].add(rank)
            elif pid is not None:
                self._by_pid.setdefault((host, pid), rank)
            if local is not None:
                places[host, local].add(rank)
        for key, ranks in listed.items():
            # A process that announces several ranks speaks for others.
            if len(ranks) == 1:
                self._by_pid.setdefault(key, *ranks)
        self._by_host = self._hosts_of_one(hosts)
        # Lines of several hosts that name none have one local rank for several ranks.
        self._by_local = {place: next(iter(r)) for place, r in places.items() if len(r) == 1}
        self._counted_apart = any(set(r) != {int(local)} for (_, local), r in places.items())

    def _hosts_of_one(self, hosts: Mapping[str, set[Rank]]) -> dict[str | None, Rank]:
        """The ranks of hosts where each has one, and all ranks of the job are accounted for."""
        alone: dict[str | None, Rank] = {
            host: next(iter(ranks)) for host, ranks in hosts.items() if len(ranks) == 1
        }
        whole = len(alone) == len(hosts) == self._world_size == len(set(alone.values()))
        return alone if whole else {}

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
            host, _, pid, _ = self._process_of(event)
            if pid is not None:
                self._by_pid.setdefault((host, pid), Rank(event.comm_rank))
            if host is not None and event.device is not None:
                firsts[host].add(event.comm_rank - event.device)
        for host, found in firsts.items():
            first = next(iter(found))
            if len(found) == 1 and first >= 0:
                self._first_on_host[host] = Rank(first)

    def _learn_places(self, events: list[Event]) -> None:
        """A host's first rank, by its place in the launch command or by ranks beside local ones.

        Taken only where everything that is told of a host agrees, and no two hosts overlap.
        """
        firsts: dict[str | None, set[int]] = defaultdict(set)
        for (host, local), rank in self._by_local.items():
            firsts[host].add(int(rank) - int(local))
        for event in events:
            if isinstance(event, WorldSeen) and event.node_rank is not None:
                size = event.local_world_size or self._each
                if event.node_rank == 0 or size is not None:
                    firsts[self._process_of(event).host].add(event.node_rank * (size or 0))
        for host, listed in self._listed_on(events).items():
            if len(listed) > 1 and max(listed) - min(listed) + 1 == len(listed):
                firsts[host].add(min(listed))
        told = {host: first.pop() for host, first in firsts.items() if len(first) == 1}
        if (
            None in told
            or len(set(told.values())) != len(told)
            or min(told.values(), default=0) < 0
        ):
            return
        for host, first in told.items():
            self._first_on_host.setdefault(host, Rank(first))

    def _listed_on(self, events: Iterable[Event]) -> dict[str, set[int]]:
        """The ranks of each host by the tables of who is where."""
        found: dict[str, set[int]] = defaultdict(set)
        for event in events:
            if isinstance(event, WorldSeen) and event.listed and event.rank is not None:
                host = self._process_of(event).host
                if host is not None and event.pid is None:
                    found[host].add(int(event.rank))
        return found

    def _learn_devices(self, events: list[Event]) -> None:
        """Device indices that NCCL prints are ranks on a single host, one process for each.

        Where several processes have one index, each sees only its own GPU, and nothing is told.
        """
        devices: dict[tuple[str | None, int], int] = {}
        for event in events:
            if not isinstance(event, NcclFailure | CommunicatorStage) or event.device is None:
                continue
            host, _, pid, _ = self._process_of(event)
            if (
                host is None
                or pid is None
                or devices.setdefault((host, pid), event.device) != event.device
            ):
                return
        indices = set(devices.values())
        if len(self._hosts) != 1 or not 1 < len(indices) == len(devices):
            return
        ranks_differ = any(
            self._by_pid.get(key, device) != device for key, device in devices.items()
        )
        if ranks_differ or not self._fits_one_host(max(indices)):
            return
        for key, device in devices.items():
            self._by_pid.setdefault(key, Rank(device))

    def _is_numbered_by_rank(self, device: int | None) -> bool:
        """Whether CUDA's index of a GPU is the rank of its process.

        On one host with one process for each GPU it is, where processes see all GPUs: where each
        sees only its own, nobody's index is above 0.
        """
        size = self._world_size or self._announced
        if device is None or not max(self._devices) < size or not any(self._devices):
            return False
        return len(self._hosts) == 1 or (not self._hosts and size < 2 * (device + 1))

    def _fits_one_host(self, highest: int) -> bool:
        """Whether a host with this highest index has no room for a second one alike."""
        return self._world_size is None or self._world_size < 2 * (highest + 1)

    def _check_local(self, events: list[Event]) -> bool:
        """Local ranks are global ones on a single host, and never where a pair contradicts."""
        several = any(isinstance(e, WorldSeen) and e.node_rank for e in events)
        if self._counted_apart or several:
            return False
        if self._world_size is not None and self._each == self._world_size:
            return True
        locals_seen = {lo for _, lo, _, _ in map(process_of, events) if lo is not None}
        if self._world_size is not None:
            return self._fits_one_host(max(map(int, locals_seen), default=-1))
        highest = max((int(r) for r in _ranks_seen(events)), default=-1)
        room = 2 * (max(map(int, locals_seen), default=-1) + 1)
        return len(self._hosts) <= 1 and highest + 1 < max(room, 1)  # none for a host alike

    def _check_groups(self, events: list[Event]) -> bool:
        """No pair of global and group rank differs, and no group but the world was named."""
        for event in events:
            if not isinstance(event, Grouped) or event.group_rank is None:
                continue
            if event.origin.rank is not None and int(event.group_rank) != int(event.origin.rank):
                return False
        ranks = defaultdict(set)
        for event in events:
            if isinstance(event, CollectiveTimeout) and event.origin.rank is not None:
                ranks[event.group_rank].add(event.origin.rank)
        return all(len(found) == 1 for found in ranks.values())

    def _number_files(self, events: list[Event]) -> dict[str, Rank]:
        """Files that are numbered by ranks, as those show that name their rank."""
        spoken: dict[str, set[Rank]] = defaultdict(set)
        for event in events:
            own = isinstance(event, WorldSeen) and not event.listed
            if event.origin.rank is not None or own or isinstance(event, Grouped):
                rank = self.rank_of(event)
                spoken[event.source.artifact].update(() if rank is None else (rank,))
        files = {event.source.artifact for event in events}
        ranks = {name: frozenset(found) for name, found in spoken.items()}
        announced = {
            e.source.artifact
            for e in events
            if isinstance(e, WorldSeen) and e.rank is not None and not e.listed
        }
        alone = ranks_alone({name: ranks.get(name, NO_RANKS) for name in announced})
        if self._world_size == len(ranks) == len(NO_RANKS.union(*ranks.values())):
            alone = ranks_alone(ranks)  # a file for each rank of the job
        return {**alone, **ranks_by_file(files, ranks, self._world_size)}


def _signed(event: Event, rank: Rank | None) -> Event:
    """`event` as told of the process of a rank."""
    return replace(event, origin=replace(event.origin, rank=rank))


def _rank_from_words(event: Event) -> Rank | None:
    """By the name that a worker has in its group, or as an error of the program begins."""
    named = _TENSOR_RANK.fullmatch(event.origin.actor or "")
    if named is None and isinstance(event, PythonException) and event.kind is ExceptionKind.USER:
        named = _NAMES_ITSELF.match(event.message)
    return None if named is None else Rank(int(named["rank"]))


def _ranks_seen(events: Iterable[Event]) -> set[Rank]:
    """All global ranks that lines are printed by."""
    return {e.origin.rank for e in events if e.origin.rank is not None}
