"""Events of processes: exceptions, device and kernel faults, exits, stops, restarts."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.frames import Frame
from unhang.model.ids import LocalRank, Rank


class ExceptionKind(enum.Enum):
    """What a Python exception means for the job."""

    USER = "user"
    """The program's own failure: anything not named below."""
    GPU_OOM = "gpu-oom"
    HOST_MEMORY = "host-memory"
    CUDA = "cuda"
    COLLECTIVE = "collective"
    """Raised by a collective or a store because of another rank: second-hand."""
    MISMATCH = "mismatch"
    """DETAIL mode or DDP names a difference between ranks."""
    RENDEZVOUS = "rendezvous"
    CHILD = "child"
    """A launcher reports that a child ended (ChildFailedError, ProcessRaisedException)."""
    WORKER = "worker"
    """A DataLoader worker died."""
    HELPER = "helper"
    """The program's own error because a helper process of it is gone."""
    INTERRUPTED = "interrupted"
    """KeyboardInterrupt."""
    TERMINATED = "terminated"
    """SignalException, SIGTERM."""
    EXIT = "exit"
    DISK_FULL = "disk-full"
    WRITE_FAILED = "write-failed"
    """A file could not be written, and the text does not tell why."""
    SHARED_MEMORY = "shared-memory"
    LIBRARY = "library"
    """A library of another build: undefined symbol, version not found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonException(Seen, fact=Fact.EXCEPTIONS, witness=Witness.PROCESS, role=Role.FAULT):
    """A Python traceback, or its last line where the rest is lost.

    Attributes:
        exception: class name without modules, such as `ValueError`.
        message: its text, shortened.
        frames: outermost first; empty where the traceback was cut.
        thread: thread name for `Exception in thread …`: the process lives on.
        process: process name for `Process SpawnProcess-3:`.
        handled: printed, but the program went on (logged, "Exception ignored in").
        chained: a later traceback says that it came from this one.
    """

    kind: ExceptionKind
    exception: str
    message: str
    frames: tuple[Frame, ...] = ()
    thread: str | None = None
    process: str | None = None
    handled: bool = False
    chained: bool = False


class DeviceProblem(enum.Enum):
    """CUDA errors, by what they mean."""

    OUT_OF_MEMORY = "out-of-memory"
    ILLEGAL_ACCESS = "illegal-access"
    ASSERT = "device-assert"
    LAUNCH_FAILURE = "launch-failure"
    ECC = "ecc"
    FELL_OFF = "fell-off"
    NVLINK = "nvlink"
    FABRIC = "fabric"
    BAD_ORDINAL = "bad-ordinal"
    BUSY = "busy"
    DRIVER = "driver"
    NO_KERNEL = "no-kernel"
    PEER = "peer"
    CUBLAS = "cublas"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFault(Seen, fact=Fact.DEVICE_ERRORS, witness=Witness.PROCESS, role=Role.FAULT):
    """A CUDA error, from an exception, an assert line or a library's message.

    Attributes:
        device: GPU index as the process sees it.
        code: CUDA error number.
        asked_bytes: what the failed allocation asked for.
        own_bytes: memory that the process itself holds on that GPU.
        other_process_bytes: memory that *another* process holds on that GPU: a shared GPU.
        in_watchdog: surfaced in the NCCL watchdog, so raised by a kernel, not by NCCL.
        warning: the program only warned of it, or caught it, and went on.
        message: the deciding text, shortened.
    """

    problem: DeviceProblem
    device: int | None = None
    code: int | None = None
    asked_bytes: int | None = None
    own_bytes: int | None = None
    other_process_bytes: int | None = None
    in_watchdog: bool = False
    warning: bool = False
    message: str = ""


class KernelProblem(enum.Enum):
    """What the kernel log says."""

    XID = "xid"
    OOM_KILL = "oom-kill"
    CGROUP_OOM = "cgroup-oom"
    SEGFAULT = "segfault"
    LINK_DOWN = "link-down"
    LINK_UP = "link-up"
    PCIE_ERROR = "pcie-error"
    NVSWITCH = "nvswitch"
    BLOCKED_TASK = "blocked-task"
    STORAGE_STALL = "storage-stall"
    IOMMU_FAULT = "iommu-fault"
    THERMAL = "thermal"
    GPU_FAULT = "gpu-fault"
    """Hardware of a GPU that counts its faults otherwise than by Xid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEvent(Seen, fact=Fact.KERNEL_LOG, witness=Witness.KERNEL, role=Role.FAULT):
    """A line of the kernel log.

    Attributes:
        xid: NVIDIA Xid number, `previous_xid` the one it says it was caused by.
        pid, process: the process concerned.
        device: PCI address, interface or HCA.
        rss_bytes: resident memory of a killed process.
    """

    problem: KernelProblem
    xid: int | None = None
    previous_xid: int | None = None
    pid: int | None = None
    process: str | None = None
    device: str | None = None
    rss_bytes: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKillsCounted(Seen, fact=Fact.KERNEL_LOG, witness=Witness.KERNEL, role=Role.REPORT):
    """How many processes the kernel of a host killed for memory while the job ran.

    Attributes:
        count: of all processes of the host, whoever they belong to (`oom_kill` of /proc/vmstat).
    """

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemoryUsed(Seen, witness=Witness.PROCESS, role=Role.REPORT, of_any_text=True):
    """How full the memory of a host was when a program looked last; `share` is 0 to 1."""

    share: float


class Reporter(enum.Enum):
    """Who says that a process ended."""

    ELASTIC = "elastic"
    """torchrun's agent line: the first failing local rank."""
    ELASTIC_TABLE = "elastic-table"
    SPAWN = "spawn"
    DEEPSPEED = "deepspeed"
    COMPOSER = "composer"
    LIGHTNING = "lightning"
    RAY = "ray"
    SLURM = "slurm"
    MPI = "mpi"
    KUBERNETES = "kubernetes"
    SHELL = "shell"
    KERNEL = "kernel"
    SELF = "self"
    """The process itself: `Fatal Python error: Segmentation fault`, `terminate called`."""
    DATALOADER = "dataloader"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded(Seen, fact=Fact.EXITS, witness=Witness.LAUNCHER, role=Role.END):
    """A process ended, as somebody reports it.

    Attributes:
        rank, local_rank, pid, host: which one, as far as the report says.
        task: Slurm task or MPI rank number.
        signal: 9, 6, 11, 15 …; None when it exited by itself.
        exit_code: non-negative code; None when a signal ended it.
        reported_first: the launcher calls it the first failure (often merely the first polled).
        worker: a helper process of a rank (data loader), not the rank itself.
        oom: the reporter says that memory was the reason (`OOMKilled`, `oom-kill event`).
        told_later: somebody asked for it afterwards: its place in a log is no time.
        in_program: its own stack shows that it failed in the program's code, not in a hand-over.
    """

    reporter: Reporter
    rank: Rank | None = None
    local_rank: LocalRank | None = None
    pid: int | None = None
    host: str | None = None
    task: int | None = None
    signal: int | None = None
    exit_code: int | None = None
    reported_first: bool = False
    worker: bool = False
    oom: bool = False
    told_later: bool = False
    in_program: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingSignal(Seen, fact=Fact.EXITS, witness=Witness.LAUNCHER, role=Role.END):
    """A launcher ends a process (`Sending process 42 closing signal SIGTERM`): a victim.

    Attributes:
        pid, task, host: which one, as far as the line says; `task` of Slurm.
    """

    pid: int | None
    signal: int
    task: int | None = None
    host: str | None = None


class StopKind(enum.Enum):
    """Who stopped the job from outside."""

    INTERRUPT = "interrupt"
    """Ctrl-C: KeyboardInterrupt or SIGINT at the launcher."""
    CANCELLED = "cancelled"
    """scancel, `kubectl delete`, a user's kill."""
    TIME_LIMIT = "time-limit"
    PREEMPTED = "preempted"
    TERMINATED = "terminated"
    """The launcher itself received SIGTERM."""
    HANGUP = "hangup"
    """SIGHUP: the session was closed."""
    EVICTED = "evicted"
    REMOVED = "removed"
    """A host is taken from the job: drained, scaled down, reclaimed."""
    NODE_FAILED = "node-failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSeen(Seen, fact=Fact.STOPS, witness=Witness.LAUNCHER, role=Role.END):
    """A sign that the job was stopped from outside.

    Attributes:
        told_later: somebody asked for it afterwards: its place in a log is no time.
    """

    kind: StopKind
    told_later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted(Seen, witness=Witness.LAUNCHER, role=Role.BOUNDARY):
    """A boundary between two incarnations of the job.

    Attributes:
        attempts_left: as the elastic agent says, or None.
        launch: a fresh launch (banner, a second run appended to the file), not a restart.
        of_all_files: who tells it saw all ranks: whatever is dated before is of an earlier start.
    """

    attempts_left: int | None = None
    launch: bool = False
    of_all_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Seen, witness=Witness.PROCESS, role=Role.END):
    """The job says that it ended well.

    Attributes:
        whole_job: it speaks for the job (`run_stop … success`, `Job completed`), not for a
            step such as the end of `fit`.
        last_words: a wording that no list has, which stood last in its log.
        of_all_work: such words speak of all the work, not of a part.
        one_process: a launcher says it of one process of several.
    """

    whole_job: bool
    last_words: bool = False
    of_all_work: bool = False
    one_process: bool = False
