"""From the events of all ranks to incidents, one for each incarnation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from unhang.assemble.calls import find_calls
from unhang.assemble.course import find_framework, find_versions, has_finished
from unhang.assemble.dating import date_timeouts
from unhang.assemble.failures import find_failures
from unhang.assemble.identity import Identity
from unhang.assemble.incarnations import split_incarnations
from unhang.assemble.phases import find_open_phases
from unhang.assemble.recorder import analyse_dumps
from unhang.assemble.repeats import drop_repeats
from unhang.assemble.roster import find_coverage, find_roster
from unhang.assemble.run import Run
from unhang.assemble.same_line import share_origins
from unhang.assemble.stances import find_stances, find_standings
from unhang.assemble.timeline import Timeline
from unhang.assemble.world import find_world
from unhang.model.events import (
    DumpRead,
    Event,
    GlooFault,
    GlooProblem,
    NcclFailure,
    NcclReason,
    Restarted,
)
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Call, Incident, World

_GLOO_WAITS = frozenset({GlooProblem.RECV_TIMED_OUT, GlooProblem.SEND_TIMED_OUT})


def assemble(events: Sequence[Event], artifacts: int) -> tuple[Incident, ...]:
    """Turn events into incidents.

    Args:
        events: of all artifacts; those of one artifact in reading order.
        artifacts: how many artifacts were read.

    Returns:
        One incident for each incarnation, oldest first; at least one.
    """
    # The order in which the artifacts were named must not matter.
    runs = split_incarnations(sorted(events, key=lambda event: event.source.artifact))
    incidents = [_assemble_run(run, artifacts) for run in runs]
    connected = not any(_tells_of_no_connection(event) for event in incidents[0].events)
    return tuple(
        replace(
            incident,
            incarnation=index,
            incarnations=len(runs),
            connected_before=index > 0 and incident.restarted and connected,
        )
        for index, incident in enumerate(incidents)
    )


def _assemble_run(events: Sequence[Event], artifacts: int) -> Incident:
    events = share_origins(drop_repeats(events))
    world = find_world(events)
    recorded = analyse_dumps((e for e in events if isinstance(e, DumpRead)), world.size)
    if recorded is not None and world.size is None:
        size = len(recorded.analysis.snapshot.world)
        world = World(size=size, basis="ranks that Flight Recorder dumps name")
    identity = Identity(events, world.size)
    events = date_timeouts([identity.sign(event) for event in events], identity)
    timeline = Timeline(events)
    roster = find_roster(events, identity, timeline)
    run = Run(events=events, identity=identity, timeline=timeline, world=world)
    stances = find_stances(run)
    coverage = find_coverage(roster, world, events, artifacts, stacks=len(stances))
    calls = find_calls(run, coverage.ranks_seen)
    failures, strangers = find_failures(run)
    return Incident(
        restarted=any(_begun_anew(event) for event in events),
        events=tuple(events),
        world=world,
        roster=roster,
        calls=calls,
        failures=failures,
        strangers=strangers,
        open_phases=find_open_phases(run, _gave_up_waiting(run, calls)),
        stances=stances,
        standings=find_standings(stances),
        finished=has_finished(events),
        framework=find_framework(events),
        versions=find_versions(events),
        coverage=coverage,
        recorded=recorded,
    )


def _gave_up_waiting(run: Run, calls: Iterable[Call]) -> Ranks:
    """Ranks that timed out: in a call that has a number, or in one of Gloo, which has none."""
    timed_out = {r for call in calls for r in call.joined if r >= Rank(0)}
    for event in run.events:
        if isinstance(event, GlooFault) and event.problem in _GLOO_WAITS:
            rank = run.identity.rank_of(event)
            timed_out |= set() if rank is None else {rank}
    return frozenset(timed_out)


def _tells_of_no_connection(event: Event) -> bool:
    match event:
        case GlooFault():
            return event.problem in (GlooProblem.CONNECT_FAILED, GlooProblem.LOOPBACK)
        case NcclFailure():
            return event.reason in (NcclReason.CONNECT_REFUSED, NcclReason.CONNECT_TIMED_OUT)
        case _:
            return False


def _begun_anew(event: Event) -> bool:
    """Whether an event shows that the launcher had started the job before."""
    if isinstance(event, Restarted):
        return not event.launch
    return event.origin.incarnation is not None and event.origin.incarnation > 0
