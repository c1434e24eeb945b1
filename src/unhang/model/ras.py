"""Whom an answer of NCCL's RAS is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unhang.model.events import RasGroup, RasReport
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import RankFacts


class RasRanks:
    """Finds the global ranks of a group, as far as anything tells them.

    They are told by an answer that shows the whole job, by the processes, or by the communicator
    where it is the one of the world.

    Args:
        reports: all answers.
        roster: the processes of the ranks.
        world_size: ranks of the job, or None.
    """

    def __init__(
        self, reports: Sequence[RasReport], roster: Mapping[Rank, RankFacts], world_size: int | None
    ) -> None:
        self._roster = roster
        self._world_size = world_size
        self._largest = max((r.size or 0 for r in reports), default=0)

    def __call__(self, report: RasReport, group: RasGroup) -> Ranks:
        """The ranks of a group in an answer."""
        if report.of_all:
            return group.ranks
        owners = frozenset(f.rank for f in self._roster.values() if f.pids & group.pids)
        if owners:
            return owners
        whole = report.size is not None and self._world_size in {None, report.size}
        return group.ranks if whole and report.size == self._largest else NO_RANKS
