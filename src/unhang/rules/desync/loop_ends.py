"""Finds the ranks that say that they left the loop which the others are still in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unhang.model.events import Event, GlooFault, LastLine, LoopEnd, LoopLeft, Progress
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Incident, Join
from unhang.model.phases import Phase
from unhang.model.strength import Strength
from unhang.rules.desync.graph_traffic import SMALL
from unhang.rules.shared import order
from unhang.waitgraph import matching

_USUAL_VOICE = Rank(0)
_A_FEW = 2
"""States of another pass that the others may reach without the rank that has left."""


def ends_by_rank(incident: Incident, alarm: Event | None) -> Mapping[Rank, Sequence[LoopLeft]]:
    """What each rank said before anybody gave up."""
    said: dict[Rank, list[LoopLeft]] = {}
    for event in incident.all(LoopLeft):
        if event.origin.rank is None or (alarm is not None and order.is_before(alarm, event)):
            continue
        said.setdefault(event.origin.rank, []).append(event)
    return said


def before_a_wait(
    incident: Incident, said: Mapping[Rank, Sequence[LoopLeft]]
) -> tuple[Ranks, Ranks, Strength]:
    """Who has left, who waits, and how surely; nobody where the lines do not tell them apart."""
    call = next(iter(incident.calls), None)
    joins = () if call is None else matching.collective_joins(call)
    parted = matching.variants(joins, {j.rank: kind_of(j) for j in joins})
    if call is not None and len(parted) > 1:
        for side in parted.values():
            others = call.joined - side
            passed = frozenset(rank for rank in side if rank in said)
            if passed == side and not others & said.keys() and side != {_USUAL_VOICE}:
                return side, others, Strength.PROVES
        return NO_RANKS, NO_RANKS, Strength.HINTS
    waiters = incident.gave_up | frozenset(
        e.origin.rank for e in incident.all(GlooFault) if e.gave_up and e.origin.rank is not None
    )
    passes = {rank: _passes(said.get(rank, ())) for rank in waiters | said.keys()}
    most = max((passes[rank] for rank in waiters), default=0)
    left = frozenset(
        rank
        for rank, lines in said.items()
        if (rank not in waiters or _is_odd(incident, rank))
        and lines[-1].end is not LoopEnd.VALIDATION
        and passes[rank] > max((passes[other] for other in waiters - {rank}), default=0)
        and (rank in waiters or not _at_work(incident, rank, lines[-1]))
    )
    waiters -= left
    if not waiters or _others_are_past(incident, waiters):
        return NO_RANKS, NO_RANKS, Strength.HINTS
    if left == {_USUAL_VOICE} and not _is_of_training(said, left) and most == 0:
        return NO_RANKS, NO_RANKS, Strength.HINTS
    return left, waiters, Strength.SUPPORTS


def kind_of(join: Join) -> tuple[str | None, bool]:
    """What tells two calls apart that have one number: a flag is no bucket of gradients."""
    return join.op, join.numel_in is not None and join.numel_in < SMALL


def _is_odd(incident: Incident, rank: Rank) -> bool:
    """Whether a rank that waits too may be in another call than the rest: no size tells them apart.

    What rank 0 alone says is said for all.
    """
    sides = [side for call in incident.calls for side in call.sides]
    return rank != _USUAL_VOICE and not any(side.numel_in for side in sides)


def _others_are_past(incident: Incident, waiters: Ranks) -> bool:
    """Whether those that wait are at what comes after the loop: they save, evaluate, report."""
    return any(
        p.unfinished and p.phase is not Phase.TRAIN and (p.rank is None or p.rank in waiters)
        for p in incident.open_phases
    )


def _passes(lines: Sequence[LoopLeft]) -> int:
    return sum(line.end is not LoopEnd.VALIDATION for line in lines)


def _is_of_training(said: Mapping[Rank, Sequence[LoopLeft]], left: Ranks) -> bool:
    return all(said[rank][-1].end is LoopEnd.TRAINING for rank in left)


def _at_work(incident: Incident, rank: Rank, since: LoopLeft) -> bool:
    """Whether a rank has begun other work since, which may be what the others wait for."""
    return any(
        p.rank == rank
        and p.unfinished
        and p.phase is not Phase.TRAIN
        and (since.at is None or p.since is None or (p.since.since(since.at) or 0.0) >= 0)
        for p in incident.open_phases
    )


def before_another_pass(incident: Incident, said: Mapping[Rank, Sequence[LoopLeft]]) -> Ranks:
    """Who left the training before somebody began another pass that stands at its beginning."""
    left = frozenset(rank for rank, lines in said.items() if lines[-1].end is LoopEnd.TRAINING)
    if not left or incident.finished or incident.failures:
        return NO_RANKS
    last = max((said[rank][-1] for rank in left), key=lambda e: e.source.line or 0)
    later = [
        p
        for p in incident.all(Progress)
        if p.phase in (None, Phase.TRAIN) and order.is_before(last, p)
    ]
    if _waits_while_others_step(incident, left):
        return left
    ranks = {p.origin.rank if p.rank is None else p.rank for p in later}
    stands = 0 < len(later) <= _A_FEW and all(
        p.total is not None and p.done <= _A_FEW < p.total for p in later
    )
    return left if stands and not ranks & left else NO_RANKS


def _waits_while_others_step(incident: Incident, left: Ranks) -> bool:
    """Whether the last words of those that left say that they wait, and no others' words do."""
    last = {e.origin.rank: e.waits_by_its_words for e in incident.all(LastLine)}
    others = [waits for rank, waits in last.items() if rank is not None and rank not in left]
    return len(others) >= _A_FEW and not any(others) and all(last.get(rank, False) for rank in left)
