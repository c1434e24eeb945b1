"""Events of tools that time each collective, or watch what a link carries."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Collectives of one kind and size on one rank.

    Attributes:
        count: how many were timed.
        typical_us: the median of their times, in microseconds. A rank that comes last waits for
            nobody, so that its time is the shortest.
        early_gbps, late_gbps: medians of the bus bandwidth in GB/s, of the first and the last few.
    """

    op: str
    size_bytes: int
    count: int
    typical_us: float
    early_gbps: float
    late_gbps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivesMeasured(Seen, fact=Fact.INSPECTOR, witness=Witness.TOOL, role=Role.REPORT):
    """What NCCL Inspector tells of one rank of one communicator; `at` is when the last one ended.

    Attributes:
        comm: the communicator's id, the same on its ranks.
        comm_rank, size: rank in it, and its number of ranks.
        last_op, last_seq: the last collective that it saw end; NCCL counts each operation apart.
        exact: no line was skipped after it, so that it is the last one in the log.
        paces: by operation and size.
    """

    comm: str
    comm_rank: int
    size: int
    last_op: str
    last_seq: int
    exact: bool
    paces: tuple[Pace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsTimed(Seen, witness=Witness.TOOL, role=Role.REPORT, of_any_text=True):
    """How fast a program says that it steps; `source` is the last line that does.

    Attributes:
        measure: what it prints, in its own words (`step_time`, `tokens/s`).
        median: of the values that one file holds.
        count: how many these are.
        falls: more of it is slower.
    """

    measure: str
    median: float
    count: int
    falls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts(Seen, fact=Fact.BANDWIDTH, witness=Witness.TOOL, role=Role.REPORT):
    """How much of its steps a program says to communicate; `source` is the last line that does.

    Attributes:
        communication: share of communication in the parts that are timed, the median of all steps.
        count: how many steps these are.
    """

    communication: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoad(Seen, witness=Witness.TOOL, role=Role.REPORT):
    """What a network interface carried for a while, as `sar -n DEV` says it.

    Attributes:
        gbps: GB/s, of the direction that carried more.
        share: of what the interface can carry, 0 to 1.
    """

    interface: str
    gbps: float
    share: float


class Part(enum.Enum):
    """What a rank's step consists of."""

    WAIT = "wait"
    """For other ranks: barriers, collectives."""
    DATA = "data"
    COPY = "copy"
    """Between host and device."""
    COMPUTE = "compute"
    WHOLE = "whole"
    """The step itself."""
    AMOUNT = "amount"
    """How much there is to do, no time: batches, tokens, samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimed(
    Seen, fact=Fact.RANK_TIMES, witness=Witness.PROCESS, role=Role.REPORT, of_any_text=True
):
    """What a part of its steps takes one rank, as the program prints it.

    The origin names the rank; `source` is the last line that tells.

    Attributes:
        part: of the step.
        measure: what the program calls it; only values of one measure are compared.
        typical: the median of the last few values; in milliseconds where a unit is printed.
        count: how many values there are.
    """

    part: Part
    measure: str
    typical: float
    count: int
