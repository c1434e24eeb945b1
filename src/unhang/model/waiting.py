"""When ranks began to wait, seen from another fact: whether they can have waited because of it.

Files of days lie in one folder, or one below the other, and kernel logs go back for weeks. Who
waits for a rank that is gone begins when it next needs it: after a step, or after an evaluation or
a save of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from unhang.model.events import CollectiveTimeout
from unhang.model.time import Clock, Instant

_LONGEST_PHASE_S = 1_800.0
_ZONE_STEP_S = 1_800.0
_ZONE_MOST_S = 14 * 3_600.0
_ZONE_SLACK_S = 120.0
"""Clocks of two zones differ by half hours, so such a gap may be none."""


def first_wait_after_s(at: Instant, timeouts: Iterable[CollectiveTimeout]) -> float | None:
    """Seconds from `at` to the beginning of the first wait that was given up.

    Returns:
        None where no wait tells how long it lasted, clocks cannot be compared, or the difference
        may be that of two time zones.
    """
    gaps = [
        gap - timeout.elapsed_ms / 1_000
        for timeout in timeouts
        if timeout.at is not None
        and timeout.elapsed_ms is not None
        and (gap := timeout.at.since(at)) is not None
    ]
    first = min(gaps, default=None)
    return None if first is None or _may_be_a_zone(first) else first


def first_begun(timeouts: Iterable[CollectiveTimeout]) -> tuple[CollectiveTimeout, ...]:
    """The time-outs whose waits began first, one of each clock: all that the others can tell."""
    first: dict[Clock, tuple[CollectiveTimeout, float]] = {}
    anchors: dict[Clock, Instant] = {}
    for timeout in timeouts:
        if timeout.at is None or timeout.elapsed_ms is None:
            continue
        anchor = anchors.setdefault(timeout.at.clock, timeout.at)
        begun_s = (timeout.at.since(anchor) or 0.0) - timeout.elapsed_ms / 1_000
        known = first.get(anchor.clock)
        if known is None or begun_s < known[1]:
            first[anchor.clock] = timeout, begun_s
    return tuple(timeout for timeout, _ in first.values())


def worked_on_after(at: Instant, timeouts: Iterable[CollectiveTimeout]) -> bool:
    """Whether the first wait began so long after `at` that the job must have worked until then."""
    wait_s = first_wait_after_s(at, timeouts)
    return wait_s is not None and wait_s > _LONGEST_PHASE_S


def _may_be_a_zone(gap_s: float) -> bool:
    rest = gap_s % _ZONE_STEP_S
    near = min(rest, _ZONE_STEP_S - rest) <= _ZONE_SLACK_S
    return near and _LONGEST_PHASE_S - _ZONE_SLACK_S <= gap_s < _ZONE_MOST_S
