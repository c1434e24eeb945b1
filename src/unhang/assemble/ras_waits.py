"""From the operation counts in NCCL's RAS to who waits for whom.

Those that launched more operations of a communicator wait in one that the others have not launched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unhang.model.events import RasGroup, RasProblem, RasReport
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.strength import Strength
from unhang.model.waits import CallRef, Snapshot, Wait, WaitWitness, WitnessKind

_MAY_DIFFER = frozenset({"SendRecv", "Send", "Recv", "Broadcast", "Reduce", "Scatter", "Gather"})
"""Sends and receives rightly differ, and the root of a broadcast rightly runs ahead."""

RanksOf = Callable[[RasReport, RasGroup], Ranks]


def waits_of_ras(reports: Sequence[RasReport], ranks_of: RanksOf) -> Snapshot:
    """Return one wait for each communicator whose counts differ.

    Where as many are behind as ahead, or more, those behind are unknown: RAS lists the minority
    only, and nothing tells which side is out of step.

    Args:
        reports: the answers.
        ranks_of: global ranks of a group in an answer, as far as anything tells them.
    """
    waits = [
        _wait(report, ranks_of)
        for report in reports
        if report.problem is RasProblem.COUNTS_DIFFER
        and report.op not in _MAY_DIFFER
        and len(report.groups) > 1
    ]
    waits.sort(key=lambda wait: -len(wait.waiters))
    world = NO_RANKS.union(*(wait.waiters | wait.awaited | wait.unknown for wait in waits))
    return Snapshot(world=world, waits=tuple(waits))


def _launched(group: RasGroup) -> int:
    """How many operations the ranks of a group have launched."""
    return int(group.says) if group.says.isdigit() else 0


def _wait(report: RasReport, ranks_of: RanksOf) -> Wait:
    behind, *ahead = sorted(report.groups, key=_launched)
    waiting = NO_RANKS.union(*(ranks_of(report, group) for group in ahead))
    count = sum(group.count for group in ahead)
    few = behind.count < count
    late = ranks_of(report, behind) - waiting
    return Wait(
        call=CallRef(group=report.comm, seq=max(map(_launched, ahead)), op=report.op),
        waiters=waiting,
        unnamed=max(0, count - len(waiting)),
        awaited=late if few else NO_RANKS,
        unknown=NO_RANKS if few else late,
        witnesses=(WaitWitness(kind=WitnessKind.RAS, weight=Strength.HINTS, source=report.source),),
    )
