"""What a drill is: faults, the job they are put into, and the verdict that is right."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.lab.faults.declared import Fault
from unhang.model.causes import Cause
from unhang.model.phases import Phase


class Need(enum.Enum):
    """What a drill asks of the machine. The value is shown to people."""

    ROOT = "root"
    NAMESPACES = "network namespaces"
    COMPILER = "a C++ compiler"


class LaunchMethod(enum.Enum):
    """How the job is started."""

    ONE_NODE = "torchrun on this machine"
    TWO_NODES = "two torchruns, each in a network namespace of its own"
    TAKEN_PORT = "torchrun at a port that another process has"
    SPAWN = "python, and torch.multiprocessing.spawn"


LOCATED, UNDETERMINED, HEALTHY = "located", "undetermined", "healthy"
"""Answers besides the causes: the other outcomes of a diagnosis."""


_STANDSTILLS = frozenset(
    {"child", "hold_gil", "lock", "native_hang", "pipe", "sleep", "slow_disk", "spin", "work"}
)
"""Kinds of faults after which a rank is there and does not come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """One drill.

    Attributes:
        name: in the words of the command line.
        summary: what is done, to whom; one line.
        faults: what is put into the job.
        cause: the right verdict; None where the taxonomy has none (who and where is all there is
            to say), and for jobs that are healthy.
        culprits: global ranks that hold the others up; empty where no rank does.
        phase: in which the culprits are, where that is part of the truth.
        accept: other causes and outcomes that a fair judge may give, however much is left.
        finishes: nothing is wrong: the job ends well.
        may_end: the culprits are at work, or wait for something that may come: whoever watches the
            job names them as late, and calls no hang.
        world: number of ranks.
        launch: how it is started.
        script: of `lab/scripts`, that is run.
        arguments: of the script.
        environment: of the whole job.
        needs: what the machine must have.
        small_disk: whether the checkpoints go to a small file system of their own, where possible.
        limit_s: after which a collective gives up; None for the usual one.
        settle_s: from the fault until everybody stands where it will stand.
    """

    name: str
    summary: str
    faults: tuple[Fault, ...]
    cause: Cause | None = None
    culprits: frozenset[int] = frozenset()
    phase: Phase | None = None
    accept: tuple[str, ...] = ()
    finishes: bool = False
    may_end: bool = False
    world: int = 4
    launch: LaunchMethod = LaunchMethod.ONE_NODE
    script: str = "train.py"
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: frozenset[Need] = frozenset()
    small_disk: bool = False
    limit_s: float | None = None
    settle_s: float = 3.0

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of its faults, each once; of a drill that declares none, its name."""
        return tuple(sorted({each.what for each in self.faults})) or (self.name,)

    @property
    def named_within_s(self) -> float:
        """Seconds after the fault within which whoever watches the job should name it.

        A death, a stop and a difference prove themselves; of a standstill, time must tell.
        """
        return 10.0 if self.may_end or _STANDSTILLS & set(self.kinds) else 5.0

    @property
    def expected(self) -> str:
        """The right verdict in one word."""
        if self.finishes:
            return HEALTHY
        return LOCATED if self.cause is None else self.cause.value
