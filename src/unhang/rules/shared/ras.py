"""Whom an answer of NCCL's RAS is about, as several rules read it."""

from __future__ import annotations

from unhang.model.events import RasGroup, RasReport
from unhang.model.ids import Ranks
from unhang.model.incident import Incident
from unhang.model.ras import RasRanks


def ranks_of(incident: Incident, report: RasReport, group: RasGroup) -> Ranks:
    """Global ranks of a group, as far as anything tells them."""
    found = RasRanks(incident.all(RasReport), incident.roster, incident.world.size)
    return found(report, group)
