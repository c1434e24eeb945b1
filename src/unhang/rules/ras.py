"""Whom an answer of NCCL's RAS is about, as several rules read it."""

from __future__ import annotations

from unhang.model.events import RasGroup, RasReport
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Incident


def ranks_of(incident: Incident, report: RasReport, group: RasGroup) -> Ranks:
    """Global ranks of a group, as far as anything tells them.

    They are told by an answer that shows the whole job, by the processes, or by the communicator
    where it is the one of the world.
    """
    if report.of_all:
        return group.ranks
    owners = frozenset(f.rank for f in incident.roster.values() if f.pids & group.pids)
    if owners:
        return owners
    whole = report.size is not None and incident.world.size in {None, report.size}
    largest = max((r.size or 0 for r in incident.all(RasReport)), default=0)
    return group.ranks if whole and report.size == largest else NO_RANKS
