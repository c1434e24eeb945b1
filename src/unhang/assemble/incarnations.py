"""From one stream of events to the runs it holds: restarts, and logs that are appended to."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.assemble.by_time import earlier_runs
from unhang.assemble.unannounced import split_unannounced
from unhang.model.events import Event, Restarted, Role
from unhang.model.time import Instant

_ACTIVITY = frozenset({Role.ALARM, Role.FAULT, Role.END, Role.WORK})


def split_incarnations(events: Sequence[Event]) -> list[list[Event]]:
    """Return the events of each incarnation, oldest first; at least one list.

    Where the artifact's place tells the start (torchrun's `attempt_1/`), that counts. Elsewhere
    boundaries are counted in each artifact by itself. Every node's agent announces the same
    restart, and every rank prints the same banner: a boundary counts only when something
    happened since the one before. Some boundaries nobody announces (`unannounced`). An artifact
    without boundaries tells of the last run, unless times tell that it is of an earlier one; so
    does the live judge, which says when the last start began.
    """
    by_artifact: dict[str, list[list[Event]]] = {}
    told = (
        e.at for e in events if isinstance(e, Restarted) and e.of_all_files and e.at is not None
    )
    begun = max(told, key=lambda at: at.seconds, default=None)
    for event in events:
        runs = by_artifact.setdefault(event.source.artifact, [[]])
        if _begins(event, runs, begun) and _is_active(runs[-1]):
            runs.append([])
        runs[-1].append(event)
    restarts = (e.at for e in events if isinstance(e, Restarted) and not e.launch)
    again = max((at for at in restarts if at is not None), key=lambda at: at.seconds, default=None)
    for runs in by_artifact.values():
        after = begun or (again if len(runs) == 1 else None)
        if after is not None and _is_active(runs[-1]) and _is_before(runs[-1], after):
            runs.append([])  # it tells nothing of the last start
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


def _is_active(run: Sequence[Event]) -> bool:
    return any(event.role in _ACTIVITY for event in run)


def _begins(event: Event, runs: Sequence[Sequence[Event]], begun: Instant | None) -> bool:
    """Whether another run of its artifact begins with an event."""
    if isinstance(event, Restarted):
        return True
    if begun is None or event.at is None:
        return False
    since_s = event.at.since(begun)
    return since_s is not None and since_s >= 0 and _is_before(runs[-1], begun)


def _is_before(run: Sequence[Event], at: Instant) -> bool:
    """Whether all dates in a part lie before a moment; False where it has none."""
    told = [event.at.since(at) for event in run if event.at is not None]
    known = [since_s for since_s in told if since_s is not None]
    return bool(known) and max(known) < 0


def _told_by_place(runs: Sequence[Sequence[Event]]) -> int | None:
    """Which start of the job an artifact belongs to, where its path says so."""
    return next((e.origin.incarnation for run in runs for e in run), None)
