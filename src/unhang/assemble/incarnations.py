"""From one stream of events to the runs it holds: restarts, and logs that are appended to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from unhang.assemble.by_time import earlier_runs
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
    Reporter,
    Restarted,
    StopSeen,
    StoreFault,
    WatchdogAborted,
)

_LAUNCHERS = frozenset(
    {
        Reporter.ELASTIC,
        Reporter.ELASTIC_TABLE,
        Reporter.SPAWN,
        Reporter.DEEPSPEED,
        Reporter.COMPOSER,
        Reporter.LIGHTNING,
    }
)
"""Who ends all ranks of its host before it says that one ended."""
_AGENT = Reporter.ELASTIC
"""It says so of every start; when it gives up for good, a table follows."""
_STATES_OF_WORK = 3
"""A bar may show a state or two from a buffer after its job has ended."""

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

    Where the artifact's place tells the start (torchrun's `attempt_1/`), that counts. Elsewhere
    boundaries are counted in each artifact by itself. Every node's agent announces the same
    restart, and every rank prints the same banner: a boundary counts only when something
    happened since the one before. Work after a launcher gave its job up is a boundary that nobody
    announced (`train.sh >> train.log`). An artifact without boundaries tells of the last one,
    unless times tell that it is of an earlier one.
    """
    by_artifact: dict[str, list[list[Event]]] = {}
    for event in events:
        runs = by_artifact.setdefault(event.source.artifact, [[]])
        if isinstance(event, Restarted) and any(isinstance(e, _ACTIVITY) for e in runs[-1]):
            runs.append([])
        runs[-1].append(event)
    by_artifact = {
        artifact: [part for run in runs for part in _where_work_began_anew(run)]
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


def _where_work_began_anew(run: list[Event]) -> list[list[Event]]:
    """Split what one artifact tells where a launcher had given up, and work goes on.

    An agent of torchrun says once for each start that a rank failed; what it says of restarts is
    below the level that it logs at.
    """
    cuts: dict[int, Restarted | None] = {}
    given_up: int | None = None
    states: set[int | None] = set()
    failed: dict[tuple[str | None, int], tuple[int, int | None]] = {}
    for place, event in enumerate(run):
        if isinstance(event, ProcessEnded) and event.reporter in _LAUNCHERS and not event.worker:
            agent = (event.origin.host, event.origin.pid or 0)
            if event.reporter is _AGENT and event.origin.pid is not None:
                before, child = failed.get(agent, (None, event.pid))
                if before is not None and child != event.pid:
                    cuts[before] = _restarted(run[before - 1])
                    failed.clear()
                failed.setdefault(agent, (place + 1, event.pid))
            given_up, states = place + 1, set()
        elif isinstance(event, Progress) and given_up is not None:
            states.add(event.done)
            if len(states) >= _STATES_OF_WORK:
                last = run[given_up - 1]
                gave_up = not isinstance(last, ProcessEnded) or last.reporter is not _AGENT
                cuts.setdefault(given_up, None if gave_up else _restarted(last))
                given_up = None
    starts = [0, *sorted(cuts), len(run)]
    parts = [run[start:end] for start, end in pairwise(starts)]
    for start, part in zip(sorted(cuts), parts[1:], strict=True):
        if (begun := cuts[start]) is not None:
            part.insert(0, begun)
    return parts


def _restarted(failure: Event) -> Restarted:
    """What the agent did after a failure, and did not say."""
    return Restarted(source=failure.source, origin=failure.origin, at=failure.at)


def _told_by_place(runs: Sequence[Sequence[Event]]) -> int | None:
    """Which start of the job an artifact belongs to, where its path says so."""
    return next((e.origin.incarnation for run in runs for e in run), None)
