"""From an incident to the work that was under way when the others gave up waiting.

A rank that works long and a rank that hangs look the same to those who wait. What tells them apart
is the last thing printed before the first time-out: a bar below 100 %, a begin without its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang.model.events import PhaseMark, Progress
from unhang.model.ids import Rank
from unhang.model.incident import Incident, OpenPhase
from unhang.model.phases import Phase
from unhang.rules import order
from unhang.rules.slow.waiting import Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One rank's side: what it was at.

    Attributes:
        phase: what was under way, with its rank where known.
        mark: the latest sign of it.
        lasted_s: how long it had lasted at the alarm, by its bar or by times.
        went_on: it shows signs after the alarm too: the rank lives and works.
    """

    phase: OpenPhase
    mark: PhaseMark | Progress
    lasted_s: float | None
    went_on: bool

    @property
    def bar(self) -> Progress | None:
        """The bar that shows it."""
        return self.mark if isinstance(self.mark, Progress) else None


def find_work(incident: Incident, wait: Wait, phases: frozenset[Phase]) -> Work | None:
    """Return the last work of these phases before the alarm, unless something else came after."""
    works = [w for p in incident.open_phases if (w := _work(incident, wait, p)) is not None]
    latest: dict[tuple[Rank | None, str], Work] = {}
    for work in works:
        voice = work.phase.rank, "" if work.phase.rank is not None else work.mark.source.artifact
        other = latest.get(voice)
        if other is None or order.is_before(other.mark, work.mark):
            latest[voice] = work
    wanted = [w for w in latest.values() if w.phase.phase in phases]
    wanted.sort(
        key=lambda w: (
            not w.phase.unfinished,
            wait.missing is not None and w.phase.rank not in (None, wait.missing),
            not w.phase.exclusive,
            w.phase.rank is None,
            w.bar is None,
        )
    )
    return wanted[0] if wanted else None


def _work(incident: Incident, wait: Wait, phase: OpenPhase) -> Work | None:
    """An open phase with its latest sign before the alarm; None if it began later."""
    latest = next((e for e in _signs(incident, phase) if e.source is phase.source), None)
    if latest is None:
        return None
    mark = next(
        (
            e
            for e in _signs(incident, phase)
            if e.origin == latest.origin and not order.is_before(wait.alarm, e)
        ),
        None,
    )
    if mark is None:
        return None
    return Work(
        phase=phase,
        mark=mark,
        lasted_s=_lasted_s(incident, phase, mark, wait),
        went_on=any(
            e.origin == mark.origin and order.is_before(wait.alarm, e) is True
            for e in _signs(incident, phase)
        ),
    )


def _signs(incident: Incident, phase: OpenPhase) -> Iterator[PhaseMark | Progress]:
    """Marks and bars of a phase, the latest first; its latest may be a bar without a label."""
    for event in reversed(incident.events):
        if isinstance(event, PhaseMark | Progress) and (
            event.phase is phase.phase or event.source is phase.source
        ):
            yield event


def _lasted_s(
    incident: Incident, phase: OpenPhase, mark: PhaseMark | Progress, wait: Wait
) -> float | None:
    """By its bar, with the earlier bars of the same work; else by the times of mark and alarm.

    A bar that was last drawn long before the alarm stood still, whatever the clock says.
    """
    if isinstance(mark, Progress) and mark.elapsed_s is not None:
        return mark.elapsed_s + _before_s(incident, mark)
    if phase.since is None or wait.alarm.at is None:
        return None
    gap = wait.alarm.at.since(phase.since)
    return gap if gap is not None and gap >= 0 else None


def _before_s(incident: Incident, bar: Progress) -> float:
    """Seconds of the finished bars of the same phase directly before `bar`, in the same voice."""
    total = 0.0
    for event in incident.events:
        if event is bar:
            break
        if not isinstance(event, Progress | PhaseMark) or event.origin != bar.origin:
            continue
        if event.phase is not bar.phase:
            total = 0.0
        elif isinstance(event, Progress) and event.done == event.total:
            total += event.elapsed_s or 0.0
    return total
