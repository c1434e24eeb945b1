"""Times that are told elsewhere, and events of another day.

A kernel log holds weeks: what is older than the job's work is left out. So is trouble that a log
tells of below work of a later day: no clock goes back by days, somebody shows another log there.

Before torch 2.3 a watchdog's line has no time. It takes its process down at once, and the
launcher's table says when that was: so the table orders the time-out among what happened on other
ranks.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace

from unhang.assemble.identity import Identity
from unhang.model.events import (
    TROUBLE,
    CollectiveTimeout,
    Event,
    KernelEvent,
    ProcessEnded,
    PythonException,
)
from unhang.model.events.lifecycle import state_of_work
from unhang.model.ids import Rank
from unhang.model.time import Instant

_SLACK_S = 60.0
"""A watchdog may write its dumps before it aborts, and agents look now and then."""
_OTHER_DAY_S = 86_400.0
"""No two zones lie so far apart, so that clocks which name none can be compared to this."""
_SHOWN_LINES = 30
"""Lines of a shown text, at most, between what has a time and what has none."""


def drop_earlier_days(events: Sequence[Event]) -> list[Event]:
    """Return the events without trouble that is a day or more older than the job's first work.

    A host keeps the kernel's log for weeks, and what befell it then did not keep the job from work.
    In the log that tells of that work, such trouble stands below it only where another log is
    shown; what has no time and stands beside it was shown with it.
    """
    began: dict[str, Event] = {}
    for event in events:
        if event.at is not None and state_of_work(event) is not None:
            began.setdefault(event.source.artifact, event)
    shown: dict[str, int] = {}

    def earlier(event: Event) -> bool:
        artifact, line = event.source.artifact, event.source.line or 0
        if isinstance(event, KernelEvent) and event.at is not None:
            gaps = [_gap_s(work, event.at) for work in began.values()]
            return min((gap for gap in gaps if gap is not None), default=0.0) > _OTHER_DAY_S
        work = began.get(artifact)
        if work is None or event.role not in TROUBLE or line < (work.source.line or 0):
            return False
        if event.at is None:
            beside = line - shown.get(artifact, -_SHOWN_LINES) < _SHOWN_LINES
        else:
            beside = (_gap_s(work, event.at) or 0.0) > _OTHER_DAY_S
        if beside:
            shown[artifact] = line
        return beside

    return [event for event in events if not earlier(event)]


def _gap_s(later: Event, at: Instant) -> float | None:
    return None if later.at is None else later.at.since(at)


def date_timeouts(events: Sequence[Event], identity: Identity) -> list[Event]:
    """Return the events, undated time-outs with the time of their process's abort.

    What the last line of a traceback tells has the time of its first.
    """
    raised = {
        (e.source.artifact, e.source.line): e.at
        for e in events
        if isinstance(e, PythonException) and e.at is not None
    }
    if raised:
        events = [
            replace(e, at=raised.get((e.source.artifact, e.source.line)))
            if e.at is None and e.gave_up
            else e
            for e in events
        ]
    aborts: dict[Rank, Instant] = {}
    for event in events:
        if isinstance(event, ProcessEnded) and event.signal == signal.SIGABRT:
            rank = identity.rank_of(event)
            if rank is not None and event.at is not None:
                aborts.setdefault(rank, replace(event.at, resolution_s=_SLACK_S))
    if not aborts:
        return list(events)
    return [_dated(e, aborts, identity) for e in events]


def _dated(event: Event, aborts: dict[Rank, Instant], identity: Identity) -> Event:
    if not isinstance(event, CollectiveTimeout) or event.at is not None:
        return event
    rank = identity.rank_of(event)
    return event if rank is None or rank not in aborts else replace(event, at=aborts[rank])
