"""Finds the ranks that still print about their work while the others wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unhang.model.events import DesyncReported, LinesDropped, RankWork
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.rules.shared import order, speakers
from unhang.rules.slow.waiting import OthersWait, find_wait, measured_s

_LEAST_S, _PART = 10.0, 0.1
"""What was under way when the others began to wait may print a little: so long, or this share."""
_LINES = 3
_MOST_OF = 0.6
"""Of the time that the others waited."""
_TWO = 2
_OF_ANY_LINE = frozenset({"info", "debug", "epoch", "step", "train", "rank", "the", "for", "and"})
_ALIKE = 2
"""Words that two ranks share which do the same work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """Ranks at work.

    Attributes:
        ranks: they.
        waiters: those that wait.
        phase: what the words tell of the work.
        sign: the last line.
        alike: the others did the same, and ended it.
    """

    ranks: Ranks
    waiters: Ranks
    phase: Phase | None
    sign: RankWork
    alike: bool


def find_at_work(incident: Incident) -> AtWork | None:
    """The ranks that worked on, and at what; None where nothing tells them apart."""
    works = incident.all(RankWork)
    wait = find_wait(incident)
    if not works or incident.all(LinesDropped):
        return None
    signed = [(w, ranks) for w in works if (ranks := _ranks_of(incident, w))]
    idle = frozenset(r for w, found in signed if w.ended or w.waits_by_its_words for r in found)
    waiters = idle if wait is None else wait.ranks
    free = [(w, ranks) for w, ranks in signed if not ranks & (idle | waiters)]
    unsigned = [w for w in works if not _ranks_of(incident, w) and _in_wait(incident, wait, w)]
    awaited = _awaited(incident, wait)
    at_work = [
        (w, ranks)
        for w, ranks in free
        if _in_wait(incident, wait, w) or (ranks == awaited and w.lines >= _LINES)
    ]
    if not at_work and (_is_node(free) or (len(free) == 1 and unsigned)):
        at_work = free
    ranks = frozenset[Rank]().union(*(ranks for _, ranks in at_work))
    if not ranks or (awaited and not ranks <= awaited):
        return None
    if len(at_work) > 1 and not _is_one_host(at_work):
        return None
    waiters = (waiters | idle) - ranks
    if not waiters and not awaited:
        return None
    sign = at_work[-1][0]
    phases = [w.phase for w in (*(w for w, _ in at_work), *unsigned) if w.phase is not None]
    return AtWork(
        ranks=ranks,
        waiters=waiters,
        phase=phases[0] if phases else None,
        sign=sign,
        alike=_alike(sign, [w for w, found in signed if not found & ranks]),
    )


def _awaited(incident: Incident, wait: OthersWait | None) -> Ranks:
    """Whom the others name, in whatever way."""
    absent = (e.absent for e in incident.all(DesyncReported) if not e.all_joined)
    return frozenset[Rank]().union(*absent) if wait is None or not wait.awaited else wait.awaited


def _is_node(free: Sequence[tuple[RankWork, Ranks]]) -> bool:
    """Whether all that do not wait are of one host, without rank 0, and do the same kind of work.

    What rank 0 alone says is said for all, and may be over.
    """
    kinds = {work.phase for work, _ in free}
    ranks = frozenset[Rank]().union(*(ranks for _, ranks in free))
    lines = sum(work.lines for work, _ in free)
    return (
        _is_one_host(free)
        and len(kinds) == 1
        and None not in kinds
        and lines >= _LINES
        and (Rank(0) not in ranks)
    )


def _ranks_of(incident: Incident, work: RankWork) -> Ranks:
    """Whose work it is: of the rank that speaks, or of the node for which a process speaks."""
    if work.origin.rank is not None:
        return frozenset({work.origin.rank})
    if work.ranks and not work.ranks >= incident.gave_up | _heard(incident):
        return work.ranks  # else it speaks of the whole job
    host = work.origin.host
    return NO_RANKS if host is None else speakers.ranks_on(incident, [host])


def _heard(incident: Incident) -> Ranks:
    return frozenset(w.origin.rank for w in incident.all(RankWork) if w.origin.rank is not None)


def _is_one_host(at_work: Sequence[tuple[RankWork, Ranks]]) -> bool:
    """Whether those at work are all of one host."""
    hosts = {work.origin.host for work, _ in at_work}
    return len(hosts) == 1 and None not in hosts


def _in_wait(incident: Incident, wait: OthersWait | None, work: RankWork) -> bool:
    """Whether the last line lies well within the wait, by its time or by its place."""
    if wait is None:
        return _outlasts(incident, work)
    waited = measured_s(wait)
    gap = order.gap_s(wait.alarm, work)
    if gap is not None:
        return waited is None or gap < waited - max(_LEAST_S, _PART * waited)
    if order.is_before(wait.alarm, work):
        return True
    if work.lines < _LINES:
        return False
    lasted = _lasted_s(work)
    if waited is not None and lasted is not None and order.is_before(work, wait.alarm):
        return _MOST_OF * waited <= lasted
    return _outlasts(incident, work)


def _lasted_s(work: RankWork) -> float | None:
    return None if work.since is None or work.at is None else work.at.since(work.since)


def _outlasts(incident: Incident, work: RankWork) -> bool:
    """Whether it went on long after all others had spoken last."""
    others = [w for w in _others(incident, work) if w.ended or w.waits_by_its_words]
    gaps = [order.gap_s(work, other) for other in others]
    told = [gap for gap in gaps if gap is not None]
    if told and len(told) == len(gaps):
        return min(told) > max(_LEAST_S, _PART * (_lasted_s(work) or 0.0))
    here = [w.source.line or 0 for w in others if w.source.artifact == work.source.artifact]
    last = work.source.line or 0
    return len(here) >= _TWO and last - max(here) >= _LINES


def _others(incident: Incident, work: RankWork) -> Iterator[RankWork]:
    own = _ranks_of(incident, work)
    return (w for w in incident.all(RankWork) if (r := _ranks_of(incident, w)) and not r & own)


def _alike(work: RankWork, others: Sequence[RankWork]) -> bool:
    """Whether the others speak of the same work, and that it is done."""
    done = [other for other in others if other.ended and not other.waits_by_its_words]
    return len(done) >= _TWO and all(
        work.phase is other.phase and len((work.words & other.words) - _OF_ANY_LINE) >= _ALIKE
        for other in done
    )
