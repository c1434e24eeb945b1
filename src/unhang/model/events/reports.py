"""Events of tools that were asked about a job or a host: NCCL's RAS, nvidia-smi, our own check."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.ids import NO_RANKS, Ranks


class RasProblem(enum.Enum):
    """What NCCL's RAS says of a communicator or a job."""

    NONE = "none"
    """All communicators are well: every rank has launched the same operations."""
    COUNTS_DIFFER = "counts-differ"
    STATUS_DIFFERS = "status-differs"
    NO_ANSWER = "no-answer"
    """Processes that do not answer, or that RAS calls dead."""
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class RasGroup:
    """Ranks of a communicator that say the same.

    Attributes:
        says: an operation count as text (`640`; `0` for none), a status, or an error.
        count: how many ranks.
        ranks: those that are listed, as ranks of the communicator. RAS's text lists the minority
            only, its JSON all.
        pids: processes of those that are listed.
        hosts: their hosts, by address.
    """

    says: str
    count: int
    ranks: Ranks = NO_RANKS
    pids: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RasReport(Seen, fact=Fact.RAS, witness=Witness.TOOL, role=Role.REPORT):
    """One answer of NCCL's RAS.

    Attributes:
        comm: hash of the communicator, or "" where it speaks of the whole job.
        size: ranks of the communicator, or None.
        op: whose counts differ (`AllReduce`).
        groups: who says what, the most numerous first.
        of_all: the ranks in `groups` are those of the one communicator that every process of the
            answer belongs to, whatever communicator the report is about.
    """

    problem: RasProblem
    comm: str = ""
    size: int | None = None
    op: str | None = None
    groups: tuple[RasGroup, ...] = ()
    of_all: bool = False


class HostProblem(enum.Enum):
    """What a tool says is wrong with a device of a host."""

    GPU_LOST = "gpu-lost"
    ECC_UNCORRECTED = "ecc-uncorrected"
    REMAPPING_FAILED = "remapping-failed"
    GPU_RESET_NEEDED = "gpu-reset-needed"
    GPU_UNREADABLE = "gpu-unreadable"
    """Most of what nvidia-smi asks it for cannot be read."""
    GPU_SLOWED = "gpu-slowed"
    """Throttled by the hardware, for heat or power."""
    GPU_SLOWED_ALONE = "gpu-slowed-alone"
    """The same, and the other GPUs of the listing run at a far higher clock."""
    GPU_BEHIND = "gpu-behind"
    """Its clock or its limit of power is far below that of the others."""
    GPU_LINK_SLOW = "gpu-link-slow"
    """Its PCIe link runs below what it can, and the others' do not."""
    PORT_DOWN = "port-down"
    PORT_SLOW = "port-slow"
    """A port that runs below the others of its host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport(Seen, fact=Fact.HOST_REPORTS, witness=Witness.TOOL, role=Role.REPORT):
    """A line of nvidia-smi, ibstat or ibv_devinfo that is not as it should be.

    Attributes:
        device: PCI address of a GPU, or name of an adapter.
        detail: what is printed, shortened.
    """

    problem: HostProblem
    device: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFault(Seen, fact=Fact.CHECKS, witness=Witness.TOOL, role=Role.REPORT):
    """What `unhang check` found wrong with a host or a link, before the job or after it.

    Attributes:
        fault: id of what it said, such as `fact.shm_small` or `stage.link_lossy`.
        hosts: the host, or both ends of the link.
        addresses: of these hosts, as far as the check tells them.
        checked: all hosts of the check.
        grave: it breaks a job, or very likely will.
        text: what it said, in its language.
    """

    fault: str
    hosts: tuple[str, ...]
    addresses: frozenset[str] = frozenset()
    checked: frozenset[str] = frozenset()
    grave: bool
    text: str
