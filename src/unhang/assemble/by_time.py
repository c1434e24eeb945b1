"""From the artifacts of a folder to those that tell of earlier runs, by their times alone.

A folder of logs holds the runs of days, each in files of its own, and nothing announces the next
one. What is needed is an end with a time of its own, and waits that began long after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from unhang.model.events import (
    CollectiveTimeout,
    Event,
    Role,
    Witness,
)
from unhang.model.time import Instant
from unhang.model.waiting import first_begun, worked_on_after

_MOST_PAIRS = 1_000_000
"""Ends and waits at so many different times are no runs that can be told apart."""
_ENDS = frozenset({Role.ALARM, Role.FAULT, Role.END})


def earlier_runs(by_artifact: Mapping[str, Sequence[Event]]) -> list[list[str]]:
    """Return the artifacts of each earlier run, oldest first; none of the last run.

    Args:
        by_artifact: the events of each artifact, in its order.
    """
    ends = {a: end for a, events in by_artifact.items() if (end := _end(events)) is not None}
    waits = {
        artifact: first_begun(e for e in events if isinstance(e, CollectiveTimeout))
        for artifact, events in by_artifact.items()
    }
    # Ranks give up within seconds of each other, so there are few different times.
    alike = {_moments(wait): wait for wait in waits.values()}
    many = Counter(map(_moments, waits.values()))
    if len(alike) * len(set(ends.values())) > _MOST_PAIRS:
        return []
    after = {
        end: sum(many[moments] for moments, wait in alike.items() if worked_on_after(end, wait))
        for end in set(ends.values())
    }
    ages: dict[int, list[str]] = {}
    for artifact, end in ends.items():
        later = after[end] - worked_on_after(end, alike[_moments(waits[artifact])])
        ages.setdefault(later, []).append(artifact)
    # Runs of one age have the same number of later artifacts; the older, the more.
    return [ages[count] for count in sorted(ages, reverse=True) if count > 0]


def _moments(wait: tuple[CollectiveTimeout, ...]) -> tuple[Instant, ...]:
    """When ranks began to wait, to the second."""
    return tuple(
        replace(t.at, seconds=float(round(t.at.seconds - t.elapsed_ms / 1_000)))
        for t in wait
        if t.at is not None and t.elapsed_ms is not None
    )


def _end(events: Sequence[Event]) -> Instant | None:
    """When the run of an artifact ended, if its last word is an end with a time."""
    own = (e for e in reversed(events) if e.witness is not Witness.KERNEL)
    last = next((e for e in own if e.role in _ENDS or e.role is Role.WORK), None)
    return None if last is None or last.role is Role.WORK else last.at
