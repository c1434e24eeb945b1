"""From the facts of logs to slices: waits that were given up, phases that were open, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from unhang.model.activity import Activity
from unhang.model.incident import Call, Incident
from unhang.model.time import Clock, Instant
from unhang.model.trace import CallKey, Moment, Slice, SliceKind


def clock_of(incident: Incident) -> Clock | None:
    """The clock that most of its times were read from; None where there are none."""
    clocks = Counter(i.clock for i in _instants(incident) if i.clock is not Clock.UPTIME)
    return max(clocks, key=lambda clock: clocks[clock]) if clocks else None


def slices_of(incident: Incident, clock: Clock) -> list[Slice]:
    """Return what the times of one clock tell."""
    found = [s for call in incident.calls for s in _waits(call, incident, clock)]
    found += _phases(incident, clock)
    return found


def moments_of(incident: Incident, clock: Clock) -> list[Moment]:
    """Return the failures of processes."""
    return [
        Moment(
            at_s=failure.at.seconds,
            name=f"{failure.manner.value}: {failure.source.text}"[:400],
            process="" if failure.rank is None else f"rank {failure.rank}",
        )
        for failure in incident.failures
        if failure.at is not None and failure.at.clock is clock
    ]


def _instants(incident: Incident) -> Iterator[Instant]:
    yield from (side.at for call in incident.calls for side in call.sides if side.at is not None)
    yield from (failure.at for failure in incident.failures if failure.at is not None)
    yield from (phase.since for phase in incident.open_phases if phase.since is not None)


def _waits(call: Call, incident: Incident, clock: Clock) -> Iterator[Slice]:
    told = call.group
    group = "" if told is None else told.description or told.guid or ""
    for rank, join in call.joins.items():
        lasted = join.elapsed_ms if join.elapsed_ms is not None else join.timeout_ms
        if join.at is None or join.at.clock is not clock or lasted is None:
            continue
        facts = incident.roster.get(rank)
        yield Slice(
            process=f"rank {rank}",
            rank=rank,
            host="" if facts is None else facts.host or "",
            track=group or "collectives",
            name=" ".join(
                p for p in (join.op, f"#{call.seq}" if call.seq is not None else "") if p
            ),
            kind=SliceKind.CALL,
            begin_s=join.at.seconds - lasted / 1e3,
            end_s=join.at.seconds,
            activity=Activity.WAIT,
            call=None if call.seq is None else CallKey(group, str(call.seq)),
            details={"source": join.source.text},
        )


def _phases(incident: Incident, clock: Clock) -> Iterator[Slice]:
    """What was under way at the end: nothing tells when it would have ended."""
    for phase in incident.open_phases:
        if phase.rank is None or phase.since is None or phase.since.clock is not clock:
            continue
        yield Slice(
            process=f"rank {phase.rank}",
            rank=phase.rank,
            track="phase",
            name=" ".join(part for part in (phase.phase.value, phase.detail) if part)[:200],
            kind=SliceKind.PHASE,
            begin_s=phase.since.seconds,
            end_s=None,
            activity=Activity.WORK,
            details={"source": phase.source.text},
        )
