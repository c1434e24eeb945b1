"""From phase marks and progress bars to what was under way when the job failed."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.assemble.finished_phases import find_outlived
from unhang.assemble.run import Run
from unhang.model.events import (
    Event,
    PhaseMark,
    Progress,
)
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import OpenPhase
from unhang.model.phases import Phase, PhaseEdge

_Mark = PhaseMark | Progress
_MARKS = (PhaseMark, Progress)
_Voice = tuple[Rank | None, str]
"""A rank; or, where nothing names one, what nobody signed in one artifact."""


@dataclass(slots=True)
class _OpenPhase:
    """A phase of one voice that has begun."""

    begun: _Mark
    latest: _Mark
    unfinished: bool


def find_open_phases(run: Run, waiting: Ranks) -> tuple[OpenPhase, ...]:
    """Return what was under way at the failure, best proof first, then latest first.

    A phase is closed by its end mark, by its bar at 100 %, or by training that goes on: one
    voice's training closes only its own phases, and those that nobody signed. A bar without a
    label is training, unless an evaluation was announced and the bar has a total of its own.
    Work that another rank announced as often, and then trained on, is over on all ranks.
    What is printed after the first alarm no longer counts: work that ended then was under way.
    """
    voices: dict[_Voice, dict[Phase, _OpenPhase]] = {}
    trained: set[int | None] = set()
    alarm = next((e for e in run.events if e.gave_up), None)
    marks = [e for e in run.events if isinstance(e, _MARKS) and not _is_later(e, alarm)]
    for mark in marks:
        _take(mark, run.identity.rank_of(mark), voices, trained)
    outlived = find_outlived(run, marks)
    found = [
        _describe(rank, phase, state, _lasted_s(state, alarm, run), waiting)
        for (rank, _), phases in voices.items()
        for phase, state in phases.items()
        if phase is not Phase.TRAIN and state.latest.source not in outlived
    ]
    places = {id(e.source): place for place, e in enumerate(run.events)}
    found.sort(key=lambda o: (not o.unfinished, not o.exclusive, -places.get(id(o.source), 0)))
    return tuple(found)


def _take(
    mark: _Mark,
    rank: Rank | None,
    voices: dict[_Voice, dict[Phase, _OpenPhase]],
    trained: set[int | None],
) -> None:
    """Move the state of one voice by one mark; `trained` are the totals of training bars."""
    unsigned = voices.setdefault((None, mark.source.artifact), {})
    phases = unsigned if rank is None else voices.setdefault((rank, ""), {})
    if mark.phase is None or mark.phase is Phase.TRAIN:
        if isinstance(mark, Progress) and mark.phase is None:
            announced = phases.get(Phase.EVAL) or unsigned.get(Phase.EVAL)
            if announced is not None and announced.unfinished and mark.total not in trained:
                announced.latest = mark
                return
            if _complete(mark):
                return
            trained.add(mark.total)
        phases.clear()  # training goes on: what this voice, or nobody, had begun is over
        unsigned.clear()
        return
    if isinstance(mark, PhaseMark) and mark.edge is PhaseEdge.END:
        phases.pop(mark.phase, None)
        unsigned.pop(mark.phase, None)
        return
    if isinstance(mark, Progress) and _complete(mark):
        state = phases.get(mark.phase)
        if state is None or isinstance(state.begun, Progress):
            phases.pop(mark.phase, None)
        return
    state = phases.get(mark.phase)
    begins = isinstance(mark, Progress) or mark.edge is PhaseEdge.BEGIN
    if state is None:
        phases[mark.phase] = _OpenPhase(begun=mark, latest=mark, unfinished=begins)
    else:
        state.latest = mark
        state.unfinished = state.unfinished or begins


def _is_later(mark: _Mark, alarm: Event | None) -> bool:
    """Whether times say so; places do not, because one stream may be buffered."""
    if alarm is None or alarm.at is None or mark.at is None:
        return False
    gap = mark.at.since(alarm.at)
    return gap is not None and gap > max(mark.at.resolution_s, alarm.at.resolution_s)


def _complete(bar: Progress) -> bool:
    return bar.total is not None and bar.done >= bar.total


def _lasted_s(state: _OpenPhase, alarm: Event | None, run: Run) -> float | None:
    """How long it had lasted at the alarm: by its bar, else by times."""
    if isinstance(state.latest, Progress):
        return state.latest.elapsed_s
    if alarm is None or alarm.at is None:
        return None
    gap = run.timeline.gap_s(alarm, state.begun)
    return gap if gap is not None and gap >= 0 else None


def _detail(mark: _Mark) -> str:
    return mark.label if isinstance(mark, Progress) else mark.detail


def _describe(
    rank: Rank | None, phase: Phase, state: _OpenPhase, lasted_s: float | None, waiting: Ranks
) -> OpenPhase:
    latest = state.latest
    return OpenPhase(
        rank=rank,
        phase=phase,
        detail=_detail(latest) or _detail(state.begun),
        since=state.begun.at,
        lasted_s=lasted_s,
        exclusive=rank is not None and len(waiting) > 0 and rank not in waiting,
        unfinished=state.unfinished,
        source=latest.source,
        framework=latest.framework if isinstance(latest, PhaseMark) else None,
    )
