"""Who ended how, as a launcher accounts for its processes; shared by several families."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.events import (
    ClosingSignal,
    ExceptionKind,
    ProcessEnded,
    PythonException,
    Reporter,
)
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Failure, Incident, Manner
from unhang.model.phases import Phase
from unhang.rules.shared import order, recorded

_ACCOUNTS = frozenset({Reporter.ELASTIC, Reporter.ELASTIC_TABLE})
"""Launchers that stop the processes that still run once one has failed, and say so."""

_MOST_TOLD = 65_536
_ON_ONE_RANK = frozenset({Phase.EVAL, Phase.SAVE})


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A rank whose work on one rank needed others, which had ended well by then.

    Attributes:
        others: ranks that are seen in the launcher's log beside it.
        phase: an evaluation or a save.
        function: of the program or its framework that does this work.
        raised: its exception.
    """

    rank: Rank
    others: Ranks
    phase: Phase
    function: str
    raised: PythonException


def left_alone(incident: Incident) -> LeftAlone | None:
    """The one process that failed in an evaluation or a save, for want of peers.

    A launcher that stops nobody after a failure, and reports no other, has no other process left:
    they had ended before, without an error. Others must be seen beside it in the launcher's log,
    for a launcher knows the processes of its own node alone. `srun` knows all: as peers were gone
    first, it would have told of one that failed before it tells of this rank.
    """
    if not incident.failures or incident.all(ClosingSignal) or order.stops(incident):
        return None
    rank = _at_a_loss(incident.failures[0])
    if rank is None or not all(_is_report_of(f, rank) for f in incident.failures[1:]):
        return None
    others = (_beside(incident) | _of_one_step(incident)) - {rank}
    raised = next((e for e in incident.all(PythonException) if _is_wait_of(e, rank)), None)
    if raised is None or not others:
        return None
    found = recorded.phase_of_frames(tuple(reversed(raised.frames)))
    if found is None or found[0] not in _ON_ONE_RANK:
        return None
    return LeftAlone(rank, others, found[0], found[1].function, raised)


def _at_a_loss(failure: Failure) -> Rank | None:
    """The rank of a process that failed because its peers were gone."""
    return failure.rank if failure.manner is Manner.PEER else None


def _is_report_of(failure: Failure, rank: Rank) -> bool:
    """Whether `srun` reports the end of that task, and of no other."""
    return failure.manner is Manner.EXITED and all(
        isinstance(e, ProcessEnded) and e.reporter is Reporter.SLURM and e.task == rank
        for e in failure.events
    )


def _of_one_step(incident: Incident) -> Ranks:
    """All ranks, where `srun` accounts for them."""
    told = any(e.reporter is Reporter.SLURM for e in incident.all(ProcessEnded))
    size = incident.world.size or 0
    return frozenset(map(Rank, range(size))) if told and size <= _MOST_TOLD else frozenset()


def _is_wait_of(exception: PythonException, rank: Rank) -> bool:
    return exception.kind is ExceptionKind.COLLECTIVE and exception.origin.rank == rank


def _beside(incident: Incident) -> Ranks:
    """Ranks whose own lines stand in the log of a launcher that accounts for its processes."""
    reports = [e for e in incident.all(ProcessEnded) if e.reporter in _ACCOUNTS]
    logs = {report.source.artifact for report in reports}
    return frozenset(
        event.origin.rank
        for event in incident.events
        if event.source.artifact in logs
        and event.origin.rank is not None
        and not isinstance(event, ProcessEnded)
    )
