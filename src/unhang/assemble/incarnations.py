"""From one stream of events to the runs it holds: restarts, and logs that are appended to."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import (
    ClosingSignal,
    CollectiveTimeout,
    DeviceFault,
    Event,
    Finished,
    GlooFault,
    NcclFailure,
    ProcessEnded,
    Progress,
    PythonException,
    Restarted,
    StopSeen,
    StoreFault,
    WatchdogAborted,
)

_ACTIVITY = (
    ClosingSignal
    | CollectiveTimeout
    | DeviceFault
    | Finished
    | GlooFault
    | NcclFailure
    | ProcessEnded
    | Progress
    | PythonException
    | StopSeen
    | StoreFault
    | WatchdogAborted
)


def split_incarnations(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events of each incarnation, oldest first; at least one list.

    Boundaries are counted in each artifact by itself. Every node's agent announces the same
    restart, and every rank prints the same banner: a boundary counts only when something
    happened since the one before. An artifact without boundaries tells of the last incarnation.
    """
    by_artifact: dict[str, list[list[Event]]] = {}
    for event in events:
        runs = by_artifact.setdefault(event.source.artifact, [[]])
        if isinstance(event, Restarted) and any(isinstance(e, _ACTIVITY) for e in runs[-1]):
            runs.append([])
        runs[-1].append(event)
    count = max((len(runs) for runs in by_artifact.values()), default=1)
    merged: list[list[Event]] = [[] for _ in range(count)]
    for runs in by_artifact.values():
        for offset, run in enumerate(reversed(runs)):
            merged[count - 1 - offset].extend(run)
    order = {id(event): place for place, event in enumerate(events)}
    return [sorted(run, key=lambda e: order[id(e)]) for run in merged]
