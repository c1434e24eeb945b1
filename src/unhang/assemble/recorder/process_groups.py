"""Which process groups there are: by name and members, for names alone are not unique.

A dump lists the members of each group that has a communicator on its rank. Gloo lists none, or all
ranks under an empty name; then the members are those that have calls of the group, and of the
world group all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.ids import Rank, Ranks
from unhang.model.recording import GroupTrace, Recording

Recordings = Mapping[Rank, Recording]

_DEFAULT = "default_pg"


@dataclass(slots=True)
class ProcessGroup:
    """One process group.

    Attributes:
        members: global ranks in the order of their ranks in the group.
        traces: what each member that has a dump did in it.
        mixed: point-to-point operations were seen in it, so its status counts them too.
        is_global: their texts go by ranks in the job; else by ranks in the group.
    """

    name: str
    description: str
    members: tuple[Rank, ...]
    traces: dict[Rank, GroupTrace] = field(default_factory=dict)
    mixed: bool = False
    is_global: bool = False

    def enqueued(self, rank: Rank, recording: Recording) -> int | None:
        """The last collective that a member with a dump has issued; None where nothing tells."""
        trace = self.traces.get(rank)
        if trace is None or (trace.enqueued is None and not trace.sent and not trace.received):
            return 0 if recording.from_start else None
        if trace.from_status and self.mixed:
            return trace.seqs[-1] if trace.seqs else None
        return trace.enqueued

    def is_like(self, other: ProcessGroup) -> bool:
        """Whether both are of one kind, so that their members issue the same calls."""
        same_size = len(self.members) == len(other.members)
        return self.description != "" and self.description == other.description and same_size

    def is_counted(self, rank: Rank) -> bool:
        """Whether counters tell what a member has issued, also where its calls were lost."""
        trace = self.traces.get(rank)
        return trace is not None and trace.from_status and not self.mixed

    def completed(self, rank: Rank) -> int | None:
        """The last collective that is known to be done on a member."""
        trace = self.traces.get(rank)
        if trace is None or (trace.from_status and self.mixed):
            return None
        return trace.completed

    def peer(self, number: int) -> Rank | None:
        """The rank that a number in the text of a point-to-point operation means."""
        if self.is_global:
            return Rank(number) if Rank(number) in self.members else None
        return self.members[number]

    def number(self, rank: Rank) -> int:
        """How such texts call a member."""
        return int(rank) if self.is_global else self.members.index(rank)

    def note_pairs(self) -> None:
        """Note whether there are such operations, and whether they go by ranks in the job."""
        count = len(self.members)
        for rank, trace in self.traces.items():
            self.mixed = self.mixed or bool(trace.sent or trace.received)
            numbers = (*trace.sent, *trace.received)
            own = trace.own
            foreign = own is not None and (own >= count or self.members[own] != rank)
            self.is_global = self.is_global or foreign or any(n >= count for n in numbers)


ProcessGroups = dict[tuple[str, tuple[Rank, ...]], ProcessGroup]
"""Process groups by name and members."""


def find_groups(recordings: Recordings, world: Ranks) -> list[ProcessGroup]:
    """Return the process groups of two and more ranks."""
    groups: ProcessGroups = {}
    unlisted: dict[str, dict[Rank, GroupTrace]] = {}
    for rank, recording in recordings.items():
        for name, trace in recording.groups.items():
            if trace.members is None or rank not in trace.members:
                if _is_shared(recording, trace):
                    unlisted.setdefault(name, {})[rank] = trace
                continue
            if not recording.is_untyped:
                _group(groups, name, trace).traces[rank] = trace
    for rank, recording in recordings.items():
        if recording.is_untyped:
            _match(rank, recording, groups)
    for name, traces in unlisted.items():
        _adopt(name, traces, groups, world, world - recordings.keys())
    for group in groups.values():
        group.note_pairs()
        group.description = group.description or next(
            (t.description for t in group.traces.values() if t.description), ""
        )
    return [group for group in groups.values() if len(group.members) > 1]


def _group(groups: ProcessGroups, key: str, trace: GroupTrace) -> ProcessGroup:
    """The group of a name and these members; a new one where there is none."""
    members = trace.members or ()
    return groups.setdefault((key, members), ProcessGroup(trace.name, trace.description, members))


def _match(rank: Rank, recording: Recording, groups: ProcessGroups) -> None:
    """Find the groups of a dump whose names are counters of its process.

    Of groups of one kind with the same members all ranks made the first one first.
    """
    alike: dict[tuple[str, tuple[Rank, ...]], list[GroupTrace]] = {}
    for trace in sorted(recording.groups.values(), key=_order):
        if trace.members is not None and rank in trace.members:
            alike.setdefault((trace.description, trace.members), []).append(trace)
    for (description, members), traces in alike.items():
        named = [t for t in groups.values() if (t.description, t.members) == (description, members)]
        named.sort(key=_order)
        for index, trace in enumerate(traces):
            group = named[index] if index < len(named) else None
            group = group or _group(groups, f"{description} {index}", trace)
            group.traces[rank] = trace


def _order(group: ProcessGroup | GroupTrace) -> tuple[int, str]:
    """Names that count groups in the order of their numbers."""
    return (int(group.name) if group.name.isdecimal() else 0, group.name)


def _is_shared(recording: Recording, trace: GroupTrace) -> bool:
    """Whether the name means one group on all ranks; before 2.1 it is a counter of the process."""
    return trace.name == "0" or not recording.is_untyped


def _adopt(
    name: str,
    traces: dict[Rank, GroupTrace],
    groups: ProcessGroups,
    world: Ranks,
    silent: Ranks,
) -> None:
    """Find the members of a group that these ranks do not list."""
    for (known, members), group in groups.items():
        if known == name and traces.keys() <= set(members):
            group.traces.update(traces)
            return
    description = next((t.description for t in traces.values() if t.description), "")
    is_default = description == _DEFAULT or (name == "0" and not description)
    members = tuple(sorted(world if is_default else traces))
    if len(members) == 1 and len(silent) == 1 and len(next(iter(traces.values())).seqs) > 1:
        # Its calls went on, so it has another member; every rank with a dump would show them.
        members = tuple(sorted((*members, *silent)))
    groups[name, members] = ProcessGroup(name, description, members, dict(traces))
