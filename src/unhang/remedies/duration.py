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

MARGIN = 1.5
"""On a whole that a bar extrapolates: other runs are slower."""

_UNFINISHED = 3
"""On a length that is only known to be longer than what was seen."""

_PROBE = 4
"""On the expired value, where nothing tells how long the work takes."""

DEFAULT_S = 600
"""What a group made without a timeout has (NCCL, PyTorch 2.2 and later)."""

_LONGEST_S = 24 * 3_600
_STEPS = ((60, 10), (600, 60), (3_600, 600), (6 * 3_600, 1_800))
"""Round up at the value's own scale: to ten seconds below a minute, to a minute below ten, to ten
minutes below an hour, to half an hour below six, then to an hour."""


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
    """A value to set, and what it rests on.

    Attributes:
        basis: `bar` (the whole work by its bar), `seen` (work that had not ended when the limit
            came), `probe` (nothing is known of the work), `default` (nor of the limit).
        times: the margin: the value is so many times what it rests on, rounded up.
        on: what it rests on, in seconds.
    """

    seconds: int
    basis: str
    times: float
    on: float


def estimate(incident: Incident, cause: Cause | None, phase: Phase | None) -> Estimate | None:
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


def _phases(cause: Cause | None, phase: Phase | None) -> frozenset[Phase]:
    if phase is not None:
        return frozenset({phase})
    if cause is Cause.TIMEOUT_SHORT:
        return frozenset().union(*_PHASES.values())
    return frozenset() if cause is None else _PHASES.get(cause, frozenset())


def new_timeout(
    expired_s: int | None, work: Estimate | None, default_s: int = DEFAULT_S
) -> NewTimeout | None:
    """Derive the value to set.

    Args:
        expired_s: the limit that ran out, where it is known.
        work: how long the late work takes, where that is known.
        default_s: the limit of a job whose user has set none.

    Returns:
        None where a longer limit helps nobody: the expired one is a day already, or the limit is
        unknown and the work would fit into the default.
    """
    if expired_s is not None and expired_s >= _LONGEST_S:
        return None
    limit = default_s if expired_s is None else expired_s
    if work is not None and work.whole:
        if work.seconds * MARGIN > limit:
            return _of("bar", work.seconds, MARGIN, limit)
        if expired_s is None:
            return None
        # The bar says that the work fits: then the bar is not what took the time.
    elif work is not None:
        return _of("seen", max(work.seconds, expired_s or 0), _UNFINISHED, limit)
    return _of("default" if expired_s is None else "probe", limit, _PROBE, limit)


def _of(basis: str, on: float, times: float, limit: int) -> NewTimeout:
    """So many times what it rests on, never below the limit, and of an open end never a month."""
    seconds = _round_up(on * times)
    if basis != "bar":
        seconds = min(seconds, _LONGEST_S)
    return NewTimeout(seconds=max(seconds, _round_up(limit + 1)), basis=basis, times=times, on=on)


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
