"""Events of live stacks: where the threads of a process stand."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.frames import Frame
from unhang.model.ids import NO_RANKS, Rank, Ranks


class StackKind(enum.Enum):
    """What took the stack, and so what its frames are."""

    PYTHON = "python"
    """py-spy, pystack, faulthandler, torch's debug server: Python frames, perhaps native ones."""
    NATIVE = "native"
    """gdb and its like: C and C++ frames."""
    KERNEL = "kernel"
    """`/proc/PID/stack` and what the kernel prints: where a system call stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStack(Seen, fact=Fact.STACKS, witness=Witness.STACK, role=Role.REPORT):
    """The stack of one thread of a living process; its `origin` names the process.

    Attributes:
        frames: outermost first; `file` is a library's name for native frames, "" where unknown.
        thread: its name, or None.
        tid: its id as printed; two stacks of one thread are two points in time.
        main: whether it is the main thread; None where nothing tells.
        idle: it used no CPU at that moment; None where nothing tells.
        gil: it holds Python's interpreter lock.
        collecting: it collects garbage.
        aborted: the process printed it because `abort()` ended it, which a watchdog does to those
            that wait; other crashes leave no stack of a living process.
        uninterruptible: the kernel says that it cannot even be killed (state D).
        marks: the small numbers of the lines above it that tell whose it is, each behind the rest
            of its line; one of them may count the processes.
        group: ranks of the process group that a variable of the stack names.
        peer: the rank that a variable names as the one to send to or to receive from.
    """

    kind: StackKind
    frames: tuple[Frame, ...]
    thread: str | None = None
    tid: int | None = None
    main: bool | None = None
    idle: bool | None = None
    gil: bool = False
    collecting: bool = False
    aborted: bool = False
    uninterruptible: bool = False
    marks: tuple[tuple[str, int], ...] = ()
    group: Ranks = NO_RANKS
    peer: Rank | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopStood(Seen, fact=Fact.STACKS, witness=Witness.STACK, role=Role.REPORT):
    """A main thread stood in a loop of a function; `origin` names the process.

    Attributes:
        first, last: lines of the loop.
    """

    file: str
    function: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRefused(Seen, fact=Fact.STACKS, witness=Witness.STACK, role=Role.REPORT):
    """A process was asked for its stacks and gave none; its `origin` names the rank.

    Attributes:
        status: of HTTP; 408 where it did not answer in time.
    """

    status: int
