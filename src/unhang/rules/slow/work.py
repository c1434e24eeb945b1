"""From an incident to the work that was under way when the others gave up waiting.

A rank that works long and a rank that hangs look the same to those who wait. What tells them apart
is the last thing printed before the first time-out: a bar below 100 %, a begin without its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from unhang import lazy_re as re
from unhang.model.events import PhaseMark, Progress
from unhang.model.ids import Rank
from unhang.model.incident import Incident, OpenPhase
from unhang.model.phases import Phase
from unhang.model.provenance import NOBODY, Origin
from unhang.rules.shared import order
from unhang.rules.slow.waiting import OthersWait


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One rank's side: what it was at.

    Attributes:
        phase: what was under way, with its rank where known.
        mark: the latest sign of it.
        lasted_s: how long it had lasted at the alarm, by its bar or by times.
        went_on: it shows signs after the alarm too: the rank lives and works.
        kept_on: sign upon sign of it came until the alarm, as often as before.
    """

    phase: OpenPhase
    mark: PhaseMark | Progress
    lasted_s: float | None
    went_on: bool
    kept_on: bool = False

    @property
    def bar(self) -> Progress | None:
        """The bar that shows it."""
        return self.mark if isinstance(self.mark, Progress) else None

    @property
    def is_done(self) -> bool:
        """Whether its bar is full, and no bar of one item among several."""
        bar = self.bar
        return bar is not None and bar.done == bar.total and not _is_of_series(bar)


def find_work(incident: Incident, wait: OthersWait, phases: frozenset[Phase]) -> Work | None:
    """Return the last work of these phases before the alarm, unless something else came after."""
    signs = _Signs(incident)
    works = [w for p in incident.open_phases if (w := _work(signs, wait, p)) is not None]
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
            bool(wait.awaited) and w.phase.rank not in (None, *wait.awaited),
            wait.missing is not None and w.phase.rank not in (None, wait.missing),
            not w.phase.exclusive,
            w.phase.rank is None,
            w.bar is None,
        )
    )
    return wanted[0] if wanted else None


class _Signs:
    """Marks and bars, found by who printed them."""

    def __init__(self, incident: Incident) -> None:
        marks = [e for e in incident.events if isinstance(e, PhaseMark | Progress)]
        self._at = {id(mark.source): mark for mark in marks}
        self._by_voice: dict[_Voice, list[PhaseMark | Progress]] = {}
        for mark in marks:
            self._by_voice.setdefault(_voice(mark), []).append(mark)

    def latest(self, phase: OpenPhase) -> PhaseMark | Progress | None:
        """What shows the phase last."""
        return self._at.get(id(phase.source))

    def alike(self, sign: PhaseMark | Progress) -> list[PhaseMark | Progress]:
        """All that its printer printed, in reading order."""
        return self._by_voice[_voice(sign)]

    def of(self, phase: OpenPhase, latest: PhaseMark | Progress) -> Iterator[PhaseMark | Progress]:
        """The signs of a phase, the latest first; its latest may be a bar without a label."""
        for sign in reversed(self.alike(latest)):
            if sign.phase is phase.phase or sign is latest:
                yield sign


_Voice = tuple[Origin, str]


def _voice(sign: PhaseMark | Progress) -> _Voice:
    """Who printed it; where nothing names anybody, the artifact."""
    return sign.origin, sign.source.artifact if sign.origin == NOBODY else ""


def _work(signs: _Signs, wait: OthersWait, phase: OpenPhase) -> Work | None:
    """An open phase with its latest sign before the alarm; None if it began later."""
    latest = signs.latest(phase)
    if latest is None:
        return None
    mark = next((e for e in signs.of(phase, latest) if not order.is_before(wait.alarm, e)), None)
    if mark is None:
        return None
    return Work(
        phase=phase,
        mark=mark,
        lasted_s=_lasted_s(signs, phase, mark, wait),
        went_on=any(order.is_before(wait.alarm, e) is True for e in signs.of(phase, latest)),
        kept_on=_kept_on([*signs.of(phase, latest)], wait),
    )


_SIGNS, _LATER = 4, 2.0
"""So many signs show how often they come; the next one may take so many times as long."""


def _kept_on(latest_first: list[PhaseMark | Progress], wait: OthersWait) -> bool:
    """Whether the next sign was hardly due yet when the others gave up."""
    times = [e.at for e in latest_first if e.at is not None]
    alarm = wait.alarm.at
    if len(times) < _SIGNS or alarm is None:
        return False
    gaps = [a.since(b) for a, b in pairwise((alarm, *times))]
    told = [gap for gap in gaps if gap is not None and gap >= 0]
    return len(told) == len(gaps) and told[0] <= _LATER * max(told[1:])


_ITEM = re.compile(r"(?<![\d./])(?P<item>\d{1,7})\s?(?:/|of)\s?(?P<items>\d{1,7})(?![\d./])")


def _is_of_series(bar: Progress) -> bool:
    """Whether its label counts items, and this is not the last: `image 41/64: 100%`."""
    item = _ITEM.search(bar.label)
    return item is not None and int(item["item"]) < int(item["items"])


def _lasted_s(
    signs: _Signs, phase: OpenPhase, mark: PhaseMark | Progress, wait: OthersWait
) -> float | None:
    """By its bar, with the earlier bars of the same work; else by the times of mark and alarm.

    A bar that was last drawn long before the alarm stood still, whatever the clock says.
    """
    if isinstance(mark, Progress) and mark.elapsed_s is not None and not _is_of_series(mark):
        return mark.elapsed_s + _before_s(signs, mark)
    if phase.since is None or wait.alarm.at is None:
        return None
    gap = wait.alarm.at.since(phase.since)
    return gap if gap is not None and gap >= 0 else None


def _before_s(signs: _Signs, bar: Progress) -> float:
    """Seconds of the finished bars of the same phase directly before `bar`, in the same voice."""
    total = 0.0
    for event in signs.alike(bar):
        if event is bar:
            break
        if event.phase is not bar.phase:
            total = 0.0
        elif isinstance(event, Progress) and event.done == event.total:
            total += event.elapsed_s or 0.0
    return total
