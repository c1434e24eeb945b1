"""From what was missing to what to collect next, and what it decides."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import ProcessEnded, Progress, Reporter, UnreadLine
from unhang.model.finding import Collect
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Incident, Manner

_MOST = 4


def advise(incident: Incident, diagnosis: Diagnosis) -> tuple[Collect, ...]:
    """Return what would decide, best first; what the rules ask for leads."""
    if diagnosis.outcome is Outcome.HEALTHY:
        return ()
    asked = list(diagnosis.collect_next)
    if diagnosis.likely is not None:
        asked.append(diagnosis.likely.decides)
    if diagnosis.outcome is not Outcome.CAUSE:
        known = diagnosis.culprits if diagnosis.outcome is Outcome.LOCATED else NO_RANKS
        asked.extend(_general(incident, known))
    unique = {_subject(c): c for c in reversed(asked)}
    return tuple(c for c in asked if unique.pop(_subject(c), None) is not None)[:_MOST]


def _subject(asked: Collect) -> str:
    """What is asked for; the kernel's log is asked for once, by whoever asks first."""
    return "kernel log" if "kernel_log" in asked.what.key else asked.what.key


def _general(incident: Incident, culprits: Ranks) -> Iterator[Collect]:
    """By what the incident shows and lacks; `culprits` are those that are known."""
    stood = frozenset(s.rank for s in incident.stances if s.rank is not None)
    silent = incident.coverage.ranks_silent - stood
    size = incident.coverage.world_size
    incomplete = not silent and (
        bool(incident.coverage.lines_dropped) or not incident.coverage.ranks_seen or size is None
    )
    if culprits and (incomplete or culprits & silent):  # who it was is no question any more
        yield _collect("rank_log", ranks=culprits)
        yield _collect("host_kernel_log", ranks=culprits)
    elif silent:
        yield _collect("silent_logs", ranks=silent)
    elif incomplete:
        yield _collect("all_logs")
    if any(f.manner is Manner.KILLED for f in incident.failures):
        yield _collect("kernel_log")
    if any(len(call.ops) > 1 for call in incident.calls):
        yield _collect("detail")
    if _never_completed(incident):
        yield _collect("nccl_info")
    dumped = incident.coverage.sources.get("flight_recorder", 0)
    if incident.calls and (size is None or dumped < size):
        yield _collect("flight_recorder", variable=_recorder_variable(incident))
    if _is_dead(incident):
        yield from _of_the_dead(incident, culprits)
        return
    # Where no call timed out, the job stood still at its last step: when is known, not in what.
    only_stands = not incident.timeouts and bool(incident.all(Progress))
    if size is None or len(stood) < size:
        yield _collect("standing_stacks" if only_stands else "stacks")
    if not incident.open_phases and not only_stands:
        yield _collect("before")


def _is_dead(incident: Incident) -> bool:
    """Whether processes ended, and nothing shows that any of them waits: no stack can be taken."""
    waits = incident.calls or incident.stances
    return not waits and bool(
        incident.failures or any(not u.read for u in incident.all(UnreadLine))
    )


def _of_the_dead(incident: Incident, culprits: Ranks) -> Iterator[Collect]:
    """What tells of a process that is gone."""
    if not incident.all(ProcessEnded):
        yield _collect("launcher_exits")
    if any(e.reporter is Reporter.RAY for e in incident.all(ProcessEnded)) or _by_ray(incident):
        yield _collect("ray_logs")
    if not any(f.manner is Manner.KILLED for f in incident.failures):
        yield (
            _collect("host_kernel_log", ranks=culprits) if culprits else _collect("dead_kernel_log")
        )
    if any(f.manner is Manner.CRASHED for f in incident.failures):
        yield _collect("core_dump")


def _by_ray(incident: Incident) -> bool:
    return any(event.origin.actor is not None for event in incident.events)


def _never_completed(incident: Incident) -> bool:
    """Not one collective of a group ever finished: set-up or transport, no straggler."""
    return any(
        side.completed == -1 or (side.completed is None and call.seq is not None and call.seq <= 1)
        for call in incident.calls
        for side in call.sides
    )


def _recorder_variable(incident: Incident) -> str:
    """The recorder's switch under the name that this torch reads (renamed in 2.8)."""
    version = incident.versions.get("torch", ("", ""))[0]
    parts = version.split(".")
    if len(parts) >= 2 and parts[0] == "2" and parts[1].isdigit() and int(parts[1]) < 8:
        return "TORCH_NCCL_TRACE_BUFFER_SIZE"
    return "TORCH_FR_BUFFER_SIZE"


def _collect(topic: str, **values: object) -> Collect:
    return Collect.of(topic, **values)
