"""From the reported ends of processes to the times of time-outs that were printed without any.

Before torch 2.3 a watchdog's line has no time. It takes its process down at once, and the
launcher's table says when that was: so the table orders the time-out among what happened on other
ranks.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace

from unhang.assemble.identity import Identity
from unhang.model.events import CollectiveTimeout, Event, ProcessEnded
from unhang.model.ids import Rank
from unhang.model.time import Instant

_SLACK_S = 60.0
"""A watchdog may write its dumps before it aborts, and agents look now and then."""


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
