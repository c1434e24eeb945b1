"""From the artifacts of a folder to those that tell of earlier runs, by their times alone.

A folder of logs holds the runs of days, each in files of its own, and nothing announces the next
one. What is needed is an end with a time of its own, and waits that began long after it: whoever
waits for a rank that is gone begins when it next needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from unhang.model.events import (
    CollectiveTimeout,
    Event,
    ProcessEnded,
    Progress,
    PythonException,
    WatchdogAborted,
)
from unhang.model.time import Instant

_LONG_S = 1_800.0
"""Longer than the evaluation or the save after which a lost rank is missed."""
_ZONE_STEP_S = 1_800.0
_ZONE_MOST_S = 14 * 3_600.0
_ZONE_SLACK_S = 120.0
"""Clocks of two zones differ by half hours: such a gap may be none."""

_ENDS = CollectiveTimeout | ProcessEnded | WatchdogAborted | PythonException


class _Wait(NamedTuple):
    """A wait that was given up: when, and how long it had lasted."""

    at: Instant
    elapsed_s: float


def earlier_runs(by_artifact: Mapping[str, Sequence[Event]]) -> list[list[str]]:
    """Return the artifacts of each earlier run, oldest first; none of the last run.

    Args:
        by_artifact: the events of each artifact, in its order.
    """
    ends = {a: end for a, events in by_artifact.items() if (end := _end(events)) is not None}
    waits = {a: list(_waits(events)) for a, events in by_artifact.items()}
    later = {
        artifact: sum(_began_long_after(end, waits[other]) for other in waits if other != artifact)
        for artifact, end in ends.items()
    }
    # Runs of one age have the same number of later artifacts; the older, the more.
    ages = sorted({count for count in later.values() if count > 0}, reverse=True)
    return [[artifact for artifact, count in later.items() if count == age] for age in ages]


def _end(events: Sequence[Event]) -> Instant | None:
    """When the run of an artifact ended, if its last word is an end with a time."""
    telling = [e for e in events if isinstance(e, _ENDS | Progress)]
    if not telling or isinstance(telling[-1], Progress):
        return None
    return telling[-1].at


def _waits(events: Iterable[Event]) -> Iterable[_Wait]:
    return (
        _Wait(e.at, e.elapsed_ms / 1_000)
        for e in events
        if isinstance(e, CollectiveTimeout) and e.at is not None and e.elapsed_ms is not None
    )


def _began_long_after(end: Instant, waits: Sequence[_Wait]) -> bool:
    """Whether all of an artifact's waits began so long after `end`; False where it has none."""
    gaps = [gap - w.elapsed_s for w in waits if (gap := w.at.since(end)) is not None]
    return len(gaps) > 0 and min(gaps) > _LONG_S and not _may_be_a_zone(min(gaps))


def _may_be_a_zone(gap_s: float) -> bool:
    rest = gap_s % _ZONE_STEP_S
    return gap_s < _ZONE_MOST_S and min(rest, _ZONE_STEP_S - rest) <= _ZONE_SLACK_S
