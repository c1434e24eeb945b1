"""Events of collectives: time-outs, group status, dump signals, mismatches, barriers."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import GroupRef, Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.ids import NO_RANKS, GroupRank, Rank, Ranks, SeqId


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTimeout(Seen, fact=Fact.TIMEOUTS, witness=Witness.PROCESS, role=Role.ALARM):
    """A rank's watchdog (or its blocking wait) gave up on one collective.

    Attributes:
        group_rank: the rank *within the group* that the line names (`[Rank 3]`).
        group: None where the line does not name one (the time-out line itself never does).
        shape: element counts of the tensor (torch 1.12-2.0), or None.
        numel_in, numel_out: elements, None before torch 2.1 or where the value is garbage.
        timeout_ms, elapsed_ms: configured limit and what really passed; None where cut off.
        blocking: the main thread raised (NCCL_BLOCKING_WAIT), not the watchdog.
    """

    group_rank: GroupRank | None
    group: GroupRef | None = None
    seq: SeqId | None = None
    op: str
    shape: tuple[int, ...] | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    timeout_ms: int | None = None
    elapsed_ms: int | None = None
    blocking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus(Seen, fact=Fact.STATUS, witness=Witness.PROCESS, role=Role.ALARM):
    """A rank's counters of one group at the time of a failure.

    Attributes:
        failed: sequence number at which the watchdog saw the failure.
        enqueued, completed: last enqueued and last completed; -1 = none yet; None = not told
            or garbage.
    """

    group_rank: GroupRank | None
    group: GroupRef | None
    failed: SeqId | None = None
    enqueued: int | None = None
    completed: int | None = None


class DumpReason(enum.Enum):
    """Why a rank dumps its Flight Recorder."""

    OWN = "own"
    """It saw the failure itself."""
    OBSERVED = "observed"
    """It was told through the store, and had no time-out of its own."""
    TOLD = "told"
    """It was told by a named rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpSignal(Seen, fact=Fact.STATUS, witness=Witness.PROCESS, role=Role.ALARM):
    """A rank dumps debug information. `teller` raised the alarm: a victim, not a culprit."""

    reason: DumpReason
    group_rank: GroupRank | None = None
    group: GroupRef | None = None
    teller: Rank | None = None
    enqueued: int | None = None
    completed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogStuck(Seen, fact=Fact.STATUS, witness=Witness.PROCESS, role=Role.ALARM):
    """The heartbeat monitor ended a process whose watchdog made no progress.

    Attributes:
        stuck_s: seconds without progress, where printed.
        pending: `workMetaList_.size()`: collectives in flight; the small one is behind.
        gil: the line says that the GIL could not be acquired.
    """

    group_rank: GroupRank | None = None
    group: GroupRef | None = None
    stuck_s: int | None = None
    pending: int | None = None
    gil: bool = False


class Teardown(enum.Enum):
    """Why a watchdog thread ended the process."""

    TIMEOUT = "timeout"
    NCCL = "nccl"
    CUDA = "cuda"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogAborted(Seen, witness=Witness.PROCESS, role=Role.ALARM):
    """A watchdog took its process down: a consequence of `reason`, never a cause."""

    reason: Teardown
    group_rank: GroupRank | None = None
    group: GroupRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DesyncReported(Seen, fact=Fact.DESYNC_REPORT, witness=Witness.PROCESS, role=Role.ALARM):
    """One line of the desync report (TORCH_NCCL_DESYNC_DEBUG).

    Attributes:
        absent: ranks that did not join `seq` (or never joined any collective).
        joined: ranks that joined and did not finish.
        never_joined: `absent` never joined any collective.
        all_joined: `joined` are all that joined; who did not is not said.
        by_tool: torchfrtrace says so of the dumps that it was given.
    """

    absent: Ranks = NO_RANKS
    joined: Ranks = NO_RANKS
    seq: SeqId | None = None
    op: str | None = None
    never_joined: bool = False
    all_joined: bool = False
    by_tool: bool = False


class Waiter(enum.Enum):
    """What waits in a barrier."""

    PROGRAM = "monitored barrier"
    KERNEL = "GPU kernel of DeepEP"
    """It traps itself when it gives up."""
    WATCHER = "watcher of the program"
    """A supervisor that counts heartbeats, answers or arrivals, and says who is missing."""
    RECEIVER = "receive from one peer"
    """A rank that gave up waiting for what one other rank sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierMissing(Seen, fact=Fact.BARRIERS, witness=Witness.PROCESS, role=Role.ALARM):
    """A barrier names the ranks that did not reach it.

    Attributes:
        missing: ranks that did not come. For a victim's line (`direct` False) the rank that
            the victim waited for, whose own log has to tell.
        direct: the barrier's root says so; False = an echo on a rank that did reach it.
        waiter: what waits.
        on_host: the ranks count within one host, and nothing tells their numbers in the job.
    """

    reporter: Rank | None
    missing: Ranks
    direct: bool
    timeout_ms: int | None = None
    waiter: Waiter = Waiter.PROGRAM
    on_host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What one rank runs, as DETAIL mode prints it. `op` None = the rank is elsewhere."""

    op: str | None
    seq: SeqId | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintMismatch(Seen, fact=Fact.FINGERPRINTS, witness=Witness.PROCESS, role=Role.FAULT):
    """DETAIL mode: two ranks run different collectives. It compares against ONE other rank.

    Attributes:
        by_tool: torchfrtrace says so of the dumps that it was given.
    """

    rank: Rank
    runs: Fingerprint
    other_rank: Rank | None
    other_runs: Fingerprint | None
    by_tool: bool = False


class ModelDifference(enum.Enum):
    """How DDP or ZeRO says that the graph differs between ranks."""

    UNFINISHED_REDUCTION = "unfinished-reduction"
    PARAMETER_COUNT = "parameter-count"
    PARAMETER_SHAPE = "parameter-shape"
    MARKED_TWICE = "marked-twice"
    MODULE_ORDER = "module-order"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMismatch(Seen, fact=Fact.FINGERPRINTS, witness=Witness.PROCESS, role=Role.FAULT):
    """A framework noticed that ranks run different models.

    Attributes:
        rank, other_rank: the two ranks compared, where named.
        count, other_count: their numbers of parameters, where named.
        step: training step, where named (ZeRO's `Invalidate trace cache @ step N`).
    """

    difference: ModelDifference
    rank: Rank | None = None
    other_rank: Rank | None = None
    count: int | None = None
    other_count: int | None = None
    step: int | None = None
