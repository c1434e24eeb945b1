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
class Team:
    """One process group.

    Attributes:
        members: global ranks in the order of their ranks in the group.
        traces: what each member that has a dump did in it.
        mixed: point-to-point operations were seen in it, so its status counts them too.
    """

    name: str
    description: str
    members: tuple[Rank, ...]
    traces: dict[Rank, GroupTrace] = field(default_factory=dict)
    mixed: bool = False

    def enqueued(self, rank: Rank, recording: Recording) -> int | None:
        """The last collective that a member with a dump has issued; None where nothing tells."""
        trace = self.traces.get(rank)
        if trace is None or (trace.enqueued is None and not trace.sent and not trace.received):
            return 0 if recording.from_start else None
        if trace.from_status and self.mixed:
            return trace.seqs[-1] if trace.seqs else None
        return trace.enqueued

    def is_like(self, other: Team) -> bool:
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

    def number(self, rank: Rank) -> int:
        """The rank's own number in the texts of point-to-point operations."""
        trace = self.traces.get(rank)
        if trace is not None and trace.own is not None:
            return trace.own
        return self.members.index(rank)

    def peer(self, rank: Rank, number: int) -> Rank | None:
        """The global rank that `rank` means by a number: a rank in the group, or a global one."""
        trace = self.traces.get(rank)
        own = None if trace is None else trace.own
        if own is not None and own < len(self.members) and self.members[own] == rank:
            return self.members[number] if number < len(self.members) else None
        return Rank(number) if Rank(number) in self.members else None


def find_teams(recordings: Recordings, world: Ranks) -> list[Team]:
    """Return the process groups of two and more ranks."""
    teams: dict[tuple[str, tuple[Rank, ...]], Team] = {}
    unlisted: dict[str, dict[Rank, GroupTrace]] = {}
    for rank, recording in recordings.items():
        for name, trace in recording.groups.items():
            if trace.members is None or rank not in trace.members:
                if _is_shared(recording, trace):
                    unlisted.setdefault(name, {})[rank] = trace
                continue
            key = (name, trace.members)
            team = teams.get(key)
            if team is None:
                team = teams[key] = Team(name, trace.description, trace.members)
            team.traces[rank] = trace
    for name, traces in unlisted.items():
        _adopt(name, traces, teams, world, world - recordings.keys())
    for team in teams.values():
        team.mixed = any(t.sent or t.received for t in team.traces.values())
        team.description = team.description or next(
            (t.description for t in team.traces.values() if t.description), ""
        )
    return [team for team in teams.values() if len(team.members) > 1]


def _is_shared(recording: Recording, trace: GroupTrace) -> bool:
    """Whether the name means one group on all ranks; before 2.1 it is a counter of the process."""
    return trace.name == "0" or not recording.is_untyped


def _adopt(
    name: str,
    traces: dict[Rank, GroupTrace],
    teams: dict[tuple[str, tuple[Rank, ...]], Team],
    world: Ranks,
    silent: Ranks,
) -> None:
    """Find the members of a group that these ranks do not list."""
    for (known, members), team in teams.items():
        if known == name and traces.keys() <= set(members):
            team.traces.update(traces)
            return
    description = next((t.description for t in traces.values() if t.description), "")
    is_default = description == _DEFAULT or (name == "0" and not description)
    members = tuple(sorted(world if is_default else traces))
    if len(members) == 1 and len(silent) == 1 and len(next(iter(traces.values())).seqs) > 1:
        # Its calls went on, so it has another member; every rank with a dump would show them.
        members = tuple(sorted((*members, *silent)))
    teams[name, members] = Team(name, description, members, dict(traces))
