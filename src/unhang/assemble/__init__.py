"""From the events of all ranks to incidents, one for each incarnation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from unhang.assemble.calls import find_calls
from unhang.assemble.children import find_children, own_errors
from unhang.assemble.dating import date_timeouts, drop_earlier_days
from unhang.assemble.failures import find_failures
from unhang.assemble.identity import Identity
from unhang.assemble.incarnations import split_incarnations
from unhang.assemble.job_outcome import (
    drop_idle_words,
    find_framework,
    find_versions,
    has_finished,
)
from unhang.assemble.log_waits import waits_of_logs
from unhang.assemble.numbered_stacks import number_stacks
from unhang.assemble.phases import find_open_phases
from unhang.assemble.ras_waits import waits_of_ras
from unhang.assemble.recorder import analyse_dumps
from unhang.assemble.repeats import drop_repeats
from unhang.assemble.roster import find_coverage, find_roster
from unhang.assemble.run import Run
from unhang.assemble.same_line import share_origins
from unhang.assemble.stack_classes import find_stances, find_standings
from unhang.assemble.stack_waits import waits_of_stacks
from unhang.assemble.timeline import Timeline
from unhang.assemble.world import find_world
from unhang.model.coverage import Coverage
from unhang.model.events import (
    DumpRead,
    Event,
    GlooFault,
    GlooProblem,
    NcclFailure,
    NcclReason,
    RasReport,
    Restarted,
    WaitsSeen,
)
from unhang.model.guard import Guard
from unhang.model.ids import NO_RANKS, ManyRanks, Rank, Ranks
from unhang.model.incident import Call, Incident, OpenPhase, RankFacts, World
from unhang.model.phases import Phase
from unhang.model.ras import RasRanks
from unhang.model.recorder_analysis import RecorderAnalysis
from unhang.model.stack_states import Doing, StackState
from unhang.model.waits import NO_WAITS, Analysis, WitnessKind
from unhang.waitgraph import analyse, merge


def assemble(events: Sequence[Event], artifacts: int) -> tuple[Incident, ...]:
    """Turn events into incidents.

    A part that fails leaves out what it would have found, and its problem is told.

    Args:
        events: of all artifacts; those of one artifact in reading order.
        artifacts: how many artifacts were read.

    Returns:
        One incident for each incarnation, oldest first; at least one.
    """
    guard = Guard()
    # The order in which the artifacts were named must not matter.
    events = sorted(events, key=lambda event: event.source.artifact)
    runs = guard.call("incarnations", [list(events)], split_incarnations, events)
    incidents = [_assemble_run(run, artifacts, guard) for run in runs]
    connected = not any(_tells_of_no_connection(event) for event in incidents[0].events)
    return tuple(
        replace(
            incident,
            incarnation=index,
            incarnations=len(runs),
            connected_before=index > 0 and incident.restarted and connected,
            problems=guard.problems if index == len(incidents) - 1 else (),
        )
        for index, incident in enumerate(incidents)
    )


def _assemble_run(events: Sequence[Event], artifacts: int, guard: Guard) -> Incident:
    """Put together one run; a part that fails leaves its facts out."""
    call = guard.call
    events = call("repeats", list(events), drop_repeats, events)
    events = call("same-line", events, share_origins, events)
    events = call("completion", events, drop_idle_words, events)
    events = call("earlier-days", events, drop_earlier_days, events)
    world = call("world", World(), find_world, events)
    dumps = [event for event in events if isinstance(event, DumpRead)]
    recorded = call("flight-recorder", None, analyse_dumps, dumps, world.size)
    if recorded is not None and world.size is None:
        size = len(recorded.analysis.snapshot.world)
        world = World(size=size, basis="ranks that Flight Recorder dumps name")
    children = call("children", None, find_children, events)
    if world.size is None and children is not None and children.count > 1:
        world = World(size=children.count, basis="processes of the launcher")
    events = call("stack-numbers", events, number_stacks, events, world.size)
    identity = call("identity", None, Identity, events, world.size, children)
    identity = identity or Identity((), None)
    if identity.several:
        world = World()  # each process is all of its own job
    signed = [identity.sign(event) for event in events]
    signed = call("own-errors", signed, own_errors, signed, children)
    events = call("dating", signed, date_timeouts, signed, identity)
    timeline = Timeline(events)
    roster = call("roster", {}, find_roster, events, identity, timeline)
    run = Run(events=events, identity=identity, timeline=timeline, world=world)
    stances = call("stacks", (), find_stances, run)
    coverage = call(
        "coverage", Coverage(), find_coverage, roster, world, events, artifacts, stacks=len(stances)
    )
    calls = call("calls", (), find_calls, run, coverage.ranks_seen)
    failures, strangers = call("failures", ((), ()), find_failures, run)
    analyses = call("waits", {}, _analyses, run, roster, calls, stances, recorded)
    gave_up = call("give-ups", NO_RANKS, _gave_up_waiting, run, calls)
    return Incident(
        restarted=any(_begun_anew(event) for event in events),
        events=tuple(events),
        world=world,
        roster=roster,
        calls=calls,
        failures=failures,
        strangers=strangers,
        open_phases=tuple(
            p
            for p in call("phases", (), find_open_phases, run, gave_up)
            if not _is_past(p, stances)
        ),
        stances=stances,
        standings=call("stack-classes", (), find_standings, stances),
        analyses=analyses,
        waits=call("waits", NO_WAITS, _merged, analyses),
        finished=call("end", False, has_finished, events),
        framework=call("framework", None, find_framework, events),
        versions=call("versions", {}, find_versions, events),
        coverage=coverage,
        recorded=recorded,
    )


def _is_past(phase: OpenPhase, stances: Sequence[StackState]) -> bool:
    """Whether a rank's stack shows it back in the training: only that has a backward pass."""
    return phase.phase is not Phase.TRAIN and any(
        s.rank == phase.rank is not None and s.doing is Doing.STEPS and "backward" in (s.op or "")
        for s in stances
    )


def _merged(analyses: Mapping[WitnessKind, Analysis]) -> Analysis:
    """Who waits for whom by all witnesses together."""
    return analyse(merge([found.snapshot for found in analyses.values()]))


def _analyses(
    run: Run,
    roster: Mapping[Rank, RankFacts],
    calls: Sequence[Call],
    stances: Sequence[StackState],
    recorded: RecorderAnalysis | None,
) -> dict[WitnessKind, Analysis]:
    """Who waits for whom, by each kind of witness alone."""
    expected: ManyRanks = (run.world.ranks or NO_RANKS) | frozenset(roster)
    alarmed = any(event.gave_up for event in run.events)
    answers = run.all(RasReport)
    ras = RasRanks(answers, roster, run.world.size)
    snapshots = {
        WitnessKind.STACK: waits_of_stacks(stances, expected, alarmed=alarmed),
        WitnessKind.LOG: waits_of_logs(calls, run, frozenset(roster)),
        WitnessKind.RAS: waits_of_ras(answers, ras),
    }
    if watched := run.all(WaitsSeen):
        snapshots[WitnessKind.REPORT] = watched[-1].snapshot
    found = {kind: analyse(s) for kind, s in snapshots.items() if s.waits or s.states}
    if recorded is not None:
        found[WitnessKind.RECORDER] = recorded.analysis
    return found


def _gave_up_waiting(run: Run, calls: Iterable[Call]) -> Ranks:
    """Ranks that timed out: in a call that has a number, or in one of Gloo, which has none."""
    timed_out = {r for call in calls for r in call.joined}
    for event in run.all(GlooFault):
        if event.gave_up:
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
