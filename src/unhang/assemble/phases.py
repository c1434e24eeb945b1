"""From phase marks and progress bars to what was under way when the job failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.assemble.finished_phases import find_outlived
from unhang.assemble.run import Run
from unhang.model.events import (
    TROUBLE,
    Event,
    PhaseMark,
    Progress,
)
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import OpenPhase
from unhang.model.phases import Phase, PhaseEdge

_Mark = PhaseMark | Progress
_MARKS = (PhaseMark, Progress)
_BYTES = re.compile(r"\d ?[kKMGT]?i?B/s")
_Voice = tuple[Rank | None, str]
"""A rank; or, where nothing names one, what nobody signed in one artifact."""


@dataclass(slots=True)
class _OpenPhase:
    """A phase of one voice that has begun."""

    begun: _Mark
    latest: _Mark
    unfinished: bool
    signs: int = 1


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
    dated = _last_dated(run.events, alarm)
    marks = [e for e in run.events if isinstance(e, _MARKS) and not _is_later(e, alarm, dated)]
    for mark in marks:
        _take(mark, run.identity.rank_of(mark), voices, trained)
    for phases in voices.values():
        for state in phases.values():
            state.unfinished = state.unfinished or _lasts_until_trouble(run, state)
    outlived = find_outlived(run, marks)
    _reopen(run, alarm, dated, voices)
    found = [
        _describe(rank, phase, state, _lasted_s(state, alarm, run), waiting)
        for (rank, _), phases in voices.items()
        for phase, state in phases.items()
        if phase is not Phase.TRAIN and state.latest.source not in outlived
    ]
    places = {id(e.source): place for place, e in enumerate(run.events)}
    found.sort(key=lambda o: (not o.unfinished, not o.exclusive, -places.get(id(o.source), 0)))
    return tuple(found)


def _reopen(
    run: Run,
    alarm: Event | None,
    dated: Event | None,
    voices: dict[_Voice, dict[Phase, _OpenPhase]],
) -> None:
    """Work of several parts that told the end of one before the alarm, and of the next after it."""
    begun: dict[tuple[_Voice, Phase], _OpenPhase] = {}
    for mark in (e for e in run.events if isinstance(e, PhaseMark)):
        rank = run.identity.rank_of(mark)
        voice = (rank, "" if rank is not None else mark.source.artifact)
        key = voice, mark.phase
        later = _is_later(mark, alarm, dated)
        if mark.phase is Phase.TRAIN:
            begun = {k: state for k, state in begun.items() if k[0] != voice or later}
        elif not later and mark.edge is PhaseEdge.BEGIN:
            begun[key] = _OpenPhase(begun=mark, latest=mark, unfinished=True)
        elif later and mark.edge is PhaseEdge.BEGIN:
            begun.pop(key, None)
        elif later and mark.edge is PhaseEdge.END and key in begun:
            voices.setdefault(voice, {}).setdefault(mark.phase, begun.pop(key))


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
            if Phase.DATA in {*phases, *unsigned} and _BYTES.search(mark.source.text) is not None:
                return  # one file of what is fetched
            announced = phases.get(Phase.EVAL) or unsigned.get(Phase.EVAL)
            if announced is not None and announced.unfinished and mark.total not in trained:
                announced.latest = mark
                return
            if _belongs_to_announced(mark, (phases, unsigned)) or _complete(mark):
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
    if isinstance(mark, Progress) and mark.phase is Phase.EVAL:
        _leave_save(mark, phases)
    state = phases.get(mark.phase)
    begins = isinstance(mark, Progress) or mark.edge is PhaseEdge.BEGIN
    if state is None:
        phases[mark.phase] = _OpenPhase(begun=mark, latest=mark, unfinished=begins)
    else:
        state.latest = mark
        state.signs += 1
        state.unfinished = state.unfinished or begins or _goes_on(state)


_STEPS_ON = 2
"""So many items after its first state show that an evaluation goes on."""


def _leave_save(bar: Progress, phases: dict[Phase, _OpenPhase]) -> None:
    """A voice that goes from a save to an evaluation, and on in it, is past the save."""
    save, evaluation = phases.get(Phase.SAVE), phases.get(Phase.EVAL)
    if save is None or evaluation is None or not isinstance(evaluation.begun, Progress):
        return
    if not isinstance(save.latest, PhaseMark) or evaluation.signs < _STEPS_ON:
        return
    began = (evaluation.begun.source.line or 0) > (save.latest.source.line or 0)
    if began and bar.done > evaluation.begun.done:
        phases.pop(Phase.SAVE)


_SERIES, _SERIES_S = 3, 60.0
"""So many signs of one phase over so long show that it goes on, though none of them begins it."""


def _goes_on(state: _OpenPhase) -> bool:
    first, last = state.begun.at, state.latest.at
    if state.signs < _SERIES or first is None or last is None:
        return False
    return (last.since(first) or 0.0) >= _SERIES_S


_RIGHT_AFTER = 2
"""Lines between the last sign of a phase and the trouble that cut it off."""


def _lasts_until_trouble(run: Run, state: _OpenPhase) -> bool:
    """Whether sign upon sign of it is printed until, in the next line, something fails.

    It must not be the alarm of its own voice: who waits was at work before.
    """
    place = state.latest.source
    after = (
        e
        for e in run.events
        if e.source.artifact == place.artifact and (e.source.line or 0) > (place.line or 0)
    )
    following = min(after, key=lambda e: e.source.line or 0, default=None)
    if state.signs < _SERIES or following is None or following.gave_up:
        return False
    near = (following.source.line or 0) - (place.line or 0) <= _RIGHT_AFTER
    return near and following.role in TROUBLE


_SHOWN_BY_BARS = (Phase.DATA, Phase.SAVE, Phase.COMPILE)
_NEXT = 2
"""Lines from an announcement to its bar."""


def _belongs_to_announced(bar: Progress, voices: Iterable[dict[Phase, _OpenPhase]]) -> bool:
    """Whether a bar without a label is that of the line above it, such as `caching latents...`."""
    for phases in voices:
        for phase in _SHOWN_BY_BARS:
            state = phases.get(phase)
            if state is None or not _announces(state.latest, bar):
                continue
            state.latest, state.unfinished = bar, True
            if _complete(bar):
                phases.pop(phase)
            return True
    return False


def _announces(mark: _Mark, bar: Progress) -> bool:
    if mark.source.artifact != bar.source.artifact:
        return False
    if isinstance(mark, Progress):
        return mark.phase is None and (mark.label, mark.total) == (bar.label, bar.total)
    near = 0 < (bar.source.line or 0) - (mark.source.line or 0) <= _NEXT
    return near and mark.detail.endswith(("...", "…"))


def _is_later(mark: _Mark, alarm: Event | None, dated: Event | None) -> bool:
    """Whether times say so; places alone do not, because one stream may be buffered.

    Behind an alarm without a time, a mark is later whose own time is after all that stand before.
    """
    if alarm is None or mark.at is None:
        return False
    other = alarm if alarm.at is not None else dated
    if other is None or other.at is None or (other is dated and not _is_below(mark, alarm)):
        return False
    gap = mark.at.since(other.at)
    return gap is not None and gap > max(mark.at.resolution_s, other.at.resolution_s)


def _is_below(mark: _Mark, alarm: Event) -> bool:
    """Whether it stands further down in the same artifact."""
    same = mark.source.artifact == alarm.source.artifact
    return same and (mark.source.line or 0) > (alarm.source.line or 0)


def _last_dated(events: Iterable[Event], alarm: Event | None) -> Event | None:
    """The latest event with a time of those above an alarm that has none."""
    if alarm is None or alarm.at is not None:
        return None
    latest: Event | None = None
    for event in events:
        same = event.source.artifact == alarm.source.artifact
        if same and event.at is not None and (event.source.line or 0) < (alarm.source.line or 0):
            gap = None if latest is None or latest.at is None else event.at.since(latest.at)
            latest = event if latest is None or (gap or 0) > 0 else latest
    return latest


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
