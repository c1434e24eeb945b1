"""Times that are told elsewhere, and events of another day.

A kernel log holds weeks: what is older than the job's work is left out.

Before torch 2.3 a watchdog's line has no time. It takes its process down at once, and the
launcher's table says when that was: so the table orders the time-out among what happened on other
ranks.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace

from unhang.assemble.identity import Identity
from unhang.model.events import CollectiveTimeout, Event, KernelEvent, ProcessEnded
from unhang.model.events.lifecycle import state_of_work
from unhang.model.ids import Rank
from unhang.model.time import Instant

_SLACK_S = 60.0
"""A watchdog may write its dumps before it aborts, and agents look now and then."""
_OTHER_DAY_S = 86_400.0
"""No two zones lie so far apart, so that clocks which name none can be compared to this."""


def drop_earlier_days(events: Sequence[Event]) -> list[Event]:
    """Return the events without what the kernel logged a day or more before the job's first work.

    A host keeps the kernel's log for weeks, and what befell it then did not keep the job from work.
    """
    began: dict[str, Instant] = {}
    for event in events:
        if event.at is not None and state_of_work(event) is not None:
            began.setdefault(event.source.artifact, event.at)

    def earlier(event: Event) -> bool:
        if not isinstance(event, KernelEvent) or event.at is None:
            return False
        gaps = [gap for at in began.values() if (gap := at.since(event.at)) is not None]
        return len(gaps) > 0 and min(gaps) > _OTHER_DAY_S

    return [event for event in events if not earlier(event)]


def date_timeouts(events: Sequence[Event], identity: Identity) -> list[Event]:
    """Return the events, undated time-outs with the time of their process's abort."""
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
