"""How long the late work really takes, and the timeout that follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang.model.causes import Cause
from unhang.model.events import Progress
from unhang.model.incident import Incident
from unhang.model.phases import Phase

_PHASES = {
    Cause.CHECKPOINT_SLOW: frozenset({Phase.SAVE, Phase.LOAD}),
    Cause.DATA_SLOW: frozenset({Phase.DATA, Phase.LOAD}),
    Cause.EVAL_SLOW: frozenset({Phase.EVAL, Phase.GENERATE, Phase.LOGGING}),
    Cause.COMPILE_SLOW: frozenset({Phase.COMPILE, Phase.INIT}),
}
"""Phases whose length matters, where the verdict names none."""

_MARGIN = 1.5
"""On a whole that a bar extrapolates: other runs are slower."""

_UNFINISHED = 3
"""On a length that is only known to be longer than what was seen."""

_PROBE = 4
"""On the expired value, where nothing tells how long the work takes."""

_LONGEST_S = 24 * 3_600
_SHORTEST_S = 600
_STEPS = ((3_600, 600), (6 * 3_600, 1_800))
"""Round up to ten minutes below an hour, to half an hour below six, then to an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long the work takes.

    Attributes:
        seconds: of the whole, or as far as it was seen.
        whole: it is the whole, by a progress bar; else the work took longer than this.
    """

    seconds: float
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTimeout:
    """A value to set, and what it rests on: `bar`, `seen` or `probe`."""

    seconds: int
    basis: str


def estimate(incident: Incident, cause: Cause, phase: Phase | None) -> Estimate | None:
    """The best estimate of the late work: a bar's extrapolation, else how long it was seen."""
    phases = _phases(cause, phase)
    wholes = [whole for bar in _bars(incident, phases) if (whole := _whole_s(bar)) is not None]
    if wholes:
        return Estimate(seconds=max(wholes), whole=True)
    seen = [
        p.lasted_s
        for p in incident.open_phases
        if p.phase in phases and p.unfinished and p.lasted_s is not None
    ]
    return Estimate(seconds=max(seen), whole=False) if seen else None


def _phases(cause: Cause, phase: Phase | None) -> frozenset[Phase]:
    if phase is not None:
        return frozenset({phase})
    if cause is Cause.TIMEOUT_SHORT:
        return frozenset().union(*_PHASES.values())
    return _PHASES.get(cause, frozenset())


def new_timeout(expired_s: int | None, work: Estimate | None) -> NewTimeout | None:
    """Derive the value to set.

    Returns:
        None where the expired value is so long already that a longer one helps nobody.
    """
    floor = 0 if expired_s is None else expired_s
    wanted: float
    if floor >= _LONGEST_S:
        return None
    if work is None:
        wanted, basis = floor * _PROBE, "probe"
    elif work.whole:
        wanted, basis = work.seconds * _MARGIN, "bar"
    else:
        wanted, basis = max(work.seconds, floor) * _UNFINISHED, "seen"
    if basis == "bar" and wanted <= floor:
        # The bar says that the work fits: then the bar is not what took the time.
        wanted, basis = floor * _PROBE, "probe"
    seconds = _round_up(max(wanted, _SHORTEST_S if floor else 3_600))
    seconds = seconds if basis == "bar" else min(seconds, _LONGEST_S)
    return NewTimeout(seconds=max(seconds, _round_up(floor + 1)), basis=basis)


def _bars(incident: Incident, phases: frozenset[Phase]) -> Iterator[Progress]:
    """The last state of every unfinished bar of those phases."""
    last: dict[tuple[object, ...], Progress] = {}
    for bar in incident.all(Progress):
        if bar.phase in phases and bar.total is not None:
            last[bar.origin, bar.rank, bar.label, bar.total] = bar
    return (bar for bar in last.values() if bar.total is not None and bar.done < bar.total)


def _whole_s(bar: Progress) -> float | None:
    if bar.elapsed_s is None:
        return None
    if bar.remaining_s is not None:
        return bar.elapsed_s + bar.remaining_s
    if bar.total is None or bar.done <= 0:
        return None
    return bar.elapsed_s * bar.total / bar.done


def _round_up(seconds: float) -> int:
    step = next((step for limit, step in _STEPS if seconds <= limit), 3_600)
    return int(-(-seconds // step) * step)
