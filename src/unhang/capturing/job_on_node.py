"""What is known of a job on a node before anything is gathered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unhang.capturing.deadline import Deadline
from unhang.capturing.processes import JobProcess, ProcessRole


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOnNode:
    """What is known before anything is gathered.

    Attributes:
        host: this node's name.
        processes: of the job, on this node.
        run_folder: of `unhang run`, or None.
        dumps: folders with dumps that the caller just asked the probes for.
        signal: number of a signal that makes ranks print their stacks; the user says so.
        deadline: the job is about to be ended; None = it goes on.
        gentle: no process is stopped for longer than the blink in which its stack is read.
    """

    host: str
    processes: tuple[JobProcess, ...] = ()
    run_folder: Path | None = None
    dumps: tuple[Path, ...] = ()
    signal: int | None = None
    deadline: Deadline | None = None
    gentle: bool = False

    @property
    def ranks(self) -> tuple[JobProcess, ...]:
        """The ranks; where none is known, what else is there, and launchers only at last."""
        ranks = tuple(p for p in self.processes if p.role is ProcessRole.RANK)
        others = tuple(p for p in self.processes if p.role is ProcessRole.OTHER)
        return ranks or others or self.launchers

    @property
    def launchers(self) -> tuple[JobProcess, ...]:
        """What started the ranks."""
        return tuple(p for p in self.processes if p.role is ProcessRole.LAUNCHER)

    def loaders_of(self, process: JobProcess) -> tuple[JobProcess, ...]:
        """What runs below a rank."""
        below = {process.pid}
        found = []
        for other in self.processes:
            if other.role is ProcessRole.LOADER and other.parent in below:
                below.add(other.pid)
                found.append(other)
        return tuple(found)

    def variable(self, name: str) -> str | None:
        """A variable of the job's environment, as the first process has it that has it."""
        told = (p.variable(name) for p in (*self.ranks, *self.launchers))
        return next((value for value in told if value is not None), None)
