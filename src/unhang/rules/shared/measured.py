"""What NCCL Inspector tells, as the rules of several families read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unhang.model.events import CollectivesMeasured, Pace
from unhang.model.ids import Rank
from unhang.model.incident import Incident
from unhang.rules.shared import speakers

Kind = tuple[str, int]
"""An operation and its size in bytes."""


def by_communicator(incident: Incident) -> Mapping[str, Sequence[CollectivesMeasured]]:
    """What the ranks of each communicator tell, by the communicator's id."""
    found: dict[str, list[CollectivesMeasured]] = {}
    for event in incident.all(CollectivesMeasured):
        found.setdefault(event.comm, []).append(event)
    return found


def rank_of(incident: Incident, event: CollectivesMeasured) -> Rank | None:
    """The global rank: by process, or as it is in the communicator of the world."""
    known = speakers.rank_of(incident, event)
    if known is not None:
        return known
    largest = max(e.size for e in incident.all(CollectivesMeasured))
    return Rank(event.comm_rank) if event.size == (incident.world.size or largest) else None


def paces(events: Sequence[CollectivesMeasured], least: int) -> Mapping[Kind, Mapping[int, Pace]]:
    """By operation and size: the pace of each rank of a communicator that was timed often enough.

    Args:
        events: of the ranks of one communicator.
        least: how often.
    """
    found: dict[Kind, dict[int, Pace]] = {}
    for event in events:
        for pace in event.paces:
            if pace.count >= least:
                found.setdefault((pace.op, pace.size_bytes), {})[event.comm_rank] = pace
    return found
