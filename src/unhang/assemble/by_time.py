"""From the artifacts of a folder to those that tell of earlier runs, by their times alone.

A folder of logs holds the runs of days, each in files of its own, and nothing announces the next
one. What is needed is an end with a time of its own, and waits that began long after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unhang.model.events import (
    CollectiveTimeout,
    Event,
    ProcessEnded,
    Progress,
    PythonException,
    WatchdogAborted,
)
from unhang.model.time import Instant
from unhang.model.waiting import worked_on_after

_ENDS = CollectiveTimeout | ProcessEnded | WatchdogAborted | PythonException


def earlier_runs(by_artifact: Mapping[str, Sequence[Event]]) -> list[list[str]]:
    """Return the artifacts of each earlier run, oldest first; none of the last run.

    Args:
        by_artifact: the events of each artifact, in its order.
    """
    ends = {a: end for a, events in by_artifact.items() if (end := _end(events)) is not None}
    waits = {
        artifact: [event for event in events if isinstance(event, CollectiveTimeout)]
        for artifact, events in by_artifact.items()
    }
    later = {
        artifact: sum(worked_on_after(end, waits[other]) for other in waits if other != artifact)
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
