"""Where the ranks stand, from the stacks of their processes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Provenance


class Doing(enum.Enum):
    """What the main thread of a process does."""

    __hash__ = object.__hash__  # asked for each rank in each judgement

    WAITS = "waits"
    """It waits for other ranks: a collective, a store, a barrier."""
    STEPS = "steps"
    """It runs the model; in there it may compute, or wait for a gradient or for the GPU."""
    DEVICE = "device"
    """It waits for the GPU, which may wait for other ranks."""
    WORKS = "works"
    """It does the work of a phase."""
    STORAGE = "storage"
    """The kernel waits for a file system."""
    LOCKED = "locked"
    """It waits for a lock, a queue or a child process."""
    COLLECTS = "collects"
    """It collects garbage."""
    CODE = "code"
    """It is in code of the program that nothing else tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackStep:
    """One frame of a trimmed stack: `line` is where it calls the next one."""

    place: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """Where one process stood when its stacks were taken last.

    Attributes:
        rank: None where nothing tells whose process it is.
        phase: of the work, or the phase in which it waits.
        certain: a known library's frame decides, not the name of a function of the program.
        fits: what runs below is what the phase does: the model, or reads and writes.
        op: what it waits in, as the function is called (`barrier`), or None.
        frame: `file:function` that decides.
        code: `function (file:line)` of the program's own code nearest to it, "" where none.
        path: from the outermost frame to the one that decides.
        idle: it used no CPU; None where nothing tells.
        moved: an earlier stack of it stands elsewhere in the same work: it gets on.
        gil_taken_by: thread that keeps the interpreter lock in native code while others want it.
        group: ranks of the process group that it waits in, by a variable of its stack.
        peer: the rank that it sends to or receives from, likewise.
    """

    rank: Rank | None
    host: str | None
    pid: int | None
    doing: Doing
    phase: Phase | None
    certain: bool
    fits: bool = False
    op: str | None
    frame: str
    code: str
    path: tuple[StackStep, ...]
    idle: bool | None
    moved: bool
    gil_taken_by: str | None
    source: Provenance
    group: Ranks = NO_RANKS
    peer: Rank | None = None

    @property
    def needs(self) -> Ranks:
        """The ranks that its call needs besides its own, as far as a variable tells."""
        told = self.group if self.peer is None else frozenset({self.peer})
        return told if self.rank is None else told - {self.rank}


@dataclass(frozen=True, slots=True, kw_only=True)
class StackClass:
    """Processes that stand at the same place, seen as one.

    Attributes:
        ranks: those known by number.
        unnamed: how many further processes stand there.
        first: the representative.
        parts_at: the last place that it shares with processes of other classes, "" where none.
    """

    ranks: Ranks = NO_RANKS
    unnamed: int = 0
    first: StackState
    parts_at: str = ""
