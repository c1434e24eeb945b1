"""Builders of what ranks out of step leave behind: fingerprints, reports, dumps, mismatches."""

from __future__ import annotations

from support.builders import DEFAULT_PG, by, source
from unhang.model.events import (
    BarrierMissing,
    DesyncReported,
    DumpReason,
    DumpSignal,
    Fingerprint,
    FingerprintMismatch,
    GlooFault,
    GlooProblem,
    GroupRef,
    ModelDifference,
    ModelMismatch,
    WatchdogStuck,
    WorldSeen,
)
from unhang.model.ids import GroupRank, Rank, Ranks, SeqId

DATA_GROUP = GroupRef(guid="3", local_id=1, description="dp")
TENSOR_GROUP = GroupRef(guid="7", local_id=2, description="tp")


def ranks(*numbers: int) -> Ranks:
    """A set of ranks."""
    return frozenset(Rank(number) for number in numbers)


def runs(
    op: str | None = "ALLREDUCE",
    *shape: int,
    seq: int = 21,
    dtype: str = "Float",
) -> Fingerprint:
    """What one rank runs."""
    return Fingerprint(op=op, seq=SeqId(seq), shape=shape or None, dtype=dtype, device="cuda")


def mismatch(
    rank: int,
    mine: Fingerprint,
    other: int | None = None,
    theirs: Fingerprint | None = None,
    *,
    line: int = 5,
) -> FingerprintMismatch:
    """DETAIL mode compares two ranks."""
    return FingerprintMismatch(
        source=source(line),
        origin=by(rank),
        rank=Rank(rank),
        runs=mine,
        other_rank=None if other is None else Rank(other),
        other_runs=theirs,
    )


def differs(
    difference: ModelDifference,
    rank: int | None = None,
    other: int | None = None,
    *,
    count: int | None = None,
    other_count: int | None = None,
    step: int | None = None,
    line: int = 5,
) -> ModelMismatch:
    """A framework finds that models differ."""
    return ModelMismatch(
        source=source(line),
        origin=by(rank),
        difference=difference,
        rank=None if rank is None else Rank(rank),
        other_rank=None if other is None else Rank(other),
        count=count,
        other_count=other_count,
        step=step,
    )


def sizes_mixed_by_gloo(*, line: int = 5) -> GlooFault:
    """Gloo got more bytes than it asked for."""
    return GlooFault(
        source=source(line), origin=by(), problem=GlooProblem.SIZE_MISMATCH, detail="2000 vs 500"
    )


def reported(
    absent: Ranks = frozenset(), joined: Ranks = frozenset(), *, all_joined: bool = False
) -> DesyncReported:
    """A line of the desync report."""
    return DesyncReported(
        source=source(5),
        origin=by(),
        absent=absent,
        joined=joined,
        seq=SeqId(7),
        all_joined=all_joined,
    )


def barrier(missing: Ranks, *, reporter: int = 0, direct: bool = True) -> BarrierMissing:
    """A monitored barrier names who did not come."""
    return BarrierMissing(
        source=source(5),
        origin=by(reporter),
        reporter=Rank(reporter),
        missing=missing,
        direct=direct,
    )


def dump(
    rank: int,
    reason: DumpReason,
    *,
    enqueued: int | None = None,
    group: GroupRef | None = DEFAULT_PG,
    line: int = 5,
) -> DumpSignal:
    """A rank dumps its Flight Recorder."""
    return DumpSignal(
        source=source(line),
        origin=by(rank),
        reason=reason,
        group_rank=GroupRank(rank),
        group=group,
        enqueued=enqueued,
    )


def stuck(
    rank: int, *, pending: int | None = None, gil: bool = False, line: int = 5
) -> WatchdogStuck:
    """A watchdog stands still."""
    return WatchdogStuck(
        source=source(line), origin=by(rank), group_rank=GroupRank(rank), pending=pending, gil=gil
    )


def world(size: int) -> WorldSeen:
    """The size of the job is announced."""
    return WorldSeen(source=source(1), origin=by(), world_size=size)
