"""From one stream of events to the runs it holds: restarts, and logs that are appended to."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.assemble.by_time import earlier_runs
from unhang.assemble.unannounced import split_unannounced
from unhang.model.events import Event, Restarted, Role

_ACTIVITY = frozenset({Role.ALARM, Role.FAULT, Role.END, Role.WORK})


def split_incarnations(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events of each incarnation, oldest first; at least one list.

    Where the artifact's place tells the start (torchrun's `attempt_1/`), that counts. Elsewhere
    boundaries are counted in each artifact by itself. Every node's agent announces the same
    restart, and every rank prints the same banner: a boundary counts only when something
    happened since the one before. Some boundaries nobody announces (`unannounced`). An artifact
    without boundaries tells of the last run, unless times tell that it is of an earlier one.
    """
    by_artifact: dict[str, list[list[Event]]] = {}
    for event in events:
        runs = by_artifact.setdefault(event.source.artifact, [[]])
        if isinstance(event, Restarted) and any(e.role in _ACTIVITY for e in runs[-1]):
            runs.append([])
        runs[-1].append(event)
    by_artifact = {
        artifact: [part for run in runs for part in split_unannounced(run)]
        for artifact, runs in by_artifact.items()
    }
    placed = {a: n for a, runs in by_artifact.items() if (n := _told_by_place(runs)) is not None}
    if not placed and all(len(runs) == 1 for runs in by_artifact.values()):
        earlier = earlier_runs({artifact: runs[0] for artifact, runs in by_artifact.items()})
        placed = {artifact: age for age, artifacts in enumerate(earlier) for artifact in artifacts}
        placed |= dict.fromkeys(by_artifact.keys() - placed, len(earlier)) if earlier else {}
    count = max((len(runs) for a, runs in by_artifact.items() if a not in placed), default=1)
    count = max(count, *(n + 1 for n in placed.values())) if placed else count
    merged: list[list[Event]] = [[] for _ in range(count)]
    for artifact, runs in by_artifact.items():
        last = placed.get(artifact, count - 1)
        for offset, run in enumerate(reversed(runs)):
            merged[max(last - offset, 0)].extend(run)
    order = {id(event): place for place, event in enumerate(events)}
    # What was added stands first in its run.
    return [sorted(run, key=lambda e: order.get(id(e), -1)) for run in merged]


def _told_by_place(runs: Sequence[Sequence[Event]]) -> int | None:
    """Which start of the job an artifact belongs to, where its path says so."""
    return next((e.origin.incarnation for run in runs for e in run), None)
