"""Builders of events for tests: every field that a test does not care about has a plain value."""

from __future__ import annotations

from unhang.assemble import assemble
from unhang.model.events import CollectiveTimeout, Event, GroupRef, GroupStatus, ProcessEnded
from unhang.model.events import Reporter as EndReporter
from unhang.model.ids import GroupRank, LocalRank, Rank, SeqId
from unhang.model.incident import Incident
from unhang.model.provenance import Origin, Provenance
from unhang.model.time import Clock, Instant

DEFAULT_PG = GroupRef(guid="0", local_id=0, description="default_pg")


def at(seconds: float) -> Instant:
    """A local time without a year, `seconds` after an arbitrary start."""
    return Instant(seconds=10_000_000 + seconds, clock=Clock.LOCAL_NO_YEAR)


def source(line: int = 1, artifact: str = "job.log", text: str = "…") -> Provenance:
    """A place in an artifact."""
    return Provenance(artifact=artifact, line=line, text=text)


def by(rank: int | None = None, **fields: int | str) -> Origin:
    """Printed by a global rank, or by whom the fields say."""
    host, pid = fields.get("host"), fields.get("pid")
    local, task = fields.get("local_rank"), fields.get("task")
    return Origin(
        rank=None if rank is None else Rank(rank),
        host=None if host is None else str(host),
        pid=None if pid is None else int(pid),
        local_rank=None if local is None else LocalRank(int(local)),
        task=None if task is None else int(task),
    )


def timeout(  # a watchdog line has that many fields
    rank: int,
    seq: int | None = 7,
    op: str = "ALLREDUCE",
    *,
    numel: int | None = 1024,
    when: float | None = None,
    group: GroupRef | None = None,
    global_rank: int | None = None,
    line: int = 1,
    timeout_ms: int = 600_000,
) -> CollectiveTimeout:
    """A rank gives up on a collective."""
    return CollectiveTimeout(
        source=source(line),
        origin=by(global_rank),
        at=None if when is None else at(when),
        group_rank=GroupRank(rank),
        group=group,
        seq=None if seq is None else SeqId(seq),
        op=op,
        numel_in=numel,
        numel_out=numel,
        timeout_ms=timeout_ms,
        elapsed_ms=timeout_ms + 50,
    )


def status(
    rank: int,
    failed: int,
    enqueued: int,
    completed: int,
    *,
    group: GroupRef | None = DEFAULT_PG,
    line: int = 1,
) -> GroupStatus:
    """A rank's counters."""
    return GroupStatus(
        source=source(line),
        origin=by(rank),
        group_rank=GroupRank(rank),
        group=group,
        failed=SeqId(failed),
        enqueued=enqueued,
        completed=completed,
    )


def ended(
    rank: int | None,
    *,
    signal: int | None = None,
    exit_code: int | None = None,
    pid: int | None = None,
    when: float | None = None,
    line: int = 1,
) -> ProcessEnded:
    """A launcher reports that a process ended."""
    return ProcessEnded(
        source=source(line),
        origin=by(),
        at=None if when is None else at(when),
        reporter=EndReporter.ELASTIC_TABLE,
        rank=None if rank is None else Rank(rank),
        pid=pid,
        signal=signal,
        exit_code=exit_code,
    )


def incident(*events: Event) -> Incident:
    """The one incident that the events make up."""
    (only,) = assemble(events, artifacts=1)
    return only
