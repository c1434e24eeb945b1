"""From the stacks of all processes to where each stands, and to classes of ranks.

The classes are those of STAT: stacks are merged into a prefix tree whose nodes know their ranks;
processes with the same path, line numbers aside, are one class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from unhang.assemble.run import Run
from unhang.assemble.stack_state import (
    MOVE_BYTES,
    main_thread,
    own_code,
    place_of,
    read_stack,
    trimmed,
)
from unhang.model.events import StackKind, ThreadStack
from unhang.model.ids import Rank
from unhang.model.stack_states import Doing, StackClass, StackState
from unhang.settings.frames import bare

_Process = tuple[Rank | None, str | None, int | None, str]
_GIL_WANTED = ("take_gil", "PyGILState_Ensure")
_GIL_PARTS = ("cuda", "cu", "nccl", "pthread_join", "dl")


def find_stances(run: Run) -> tuple[StackState, ...]:
    """Return one stance for each process that left stacks, by rank."""
    processes: dict[_Process, list[ThreadStack]] = {}
    for event in run.events:
        if isinstance(event, ThreadStack):
            processes.setdefault(_process(run, event), []).append(event)
    # Beside ranks, a process of which only the kernel was asked is their launcher, or a wrapper.
    ranked = any(key[0] is not None for key in processes)
    kept = {k: s for k, s in processes.items() if not ranked or k[0] is not None or _tells(s)}
    found = [s for key, stacks in kept.items() if (s := _stance(key, stacks)) is not None]
    return tuple(sorted(found, key=lambda s: (s.rank is None, s.rank or 0)))


def find_standings(stances: Sequence[StackState]) -> tuple[StackClass, ...]:
    """Return the classes, most processes first."""
    tree = merge(stances)
    classes: dict[tuple[object, ...], list[StackState]] = {}
    for stance in stances:
        key = (stance.doing, stance.op, stance.phase, *(step.place for step in stance.path))
        classes.setdefault(key, []).append(stance)
    found = [
        StackClass(
            ranks=frozenset(s.rank for s in members if s.rank is not None),
            unnamed=sum(s.rank is None for s in members),
            first=members[0],
            parts_at="" if len(classes) == 1 else tree.parting(members[0]),
        )
        for members in classes.values()
    ]
    return tuple(sorted(found, key=lambda c: -(len(c.ranks) + c.unnamed)))


@dataclass(slots=True)
class StackNode:
    """A frame of the merged stacks: how many processes pass it, and where they go on to."""

    place: str
    passed: int = 0
    inner: dict[str, StackNode] = field(default_factory=dict)

    def parting(self, stance: StackState) -> str:
        """The innermost place on the way to a stance that processes of other classes pass too."""
        node, last = self, ""
        for step in stance.path:
            after = node.inner[step.place]
            if after.passed == self.passed:
                last = step.place
            node = after
        return last


def merge(stances: Iterable[StackState]) -> StackNode:
    """Merge the paths of all processes into a prefix tree; a path may be thousands of ranks'."""
    root = StackNode("")
    for stance in stances:
        node = root
        node.passed += 1
        for step in stance.path:
            node = node.inner.setdefault(step.place, StackNode(step.place))
            node.passed += 1
    return root


def _tells(stacks: Iterable[ThreadStack]) -> bool:
    return any(
        s.kind is not StackKind.KERNEL or read_stack(s).doing is Doing.STORAGE for s in stacks
    )


def _process(run: Run, stack: ThreadStack) -> _Process:
    """A process is known by its rank, else by its pid, else by the file of its stacks."""
    rank, origin = run.identity.rank_of(stack), stack.origin
    if rank is not None:
        return rank, None, None, ""
    if origin.pid is not None:
        return None, origin.host, origin.pid, ""
    return None, origin.host, None, stack.source.artifact


def _stance(key: _Process, stacks: Sequence[ThreadStack]) -> StackState | None:
    """Where a process stood at last; None where its stacks are those of its end."""
    snapshots = _snapshots(stacks)
    last = snapshots[-1]
    main = main_thread(last)
    reading = read_stack(main)
    waits = {Doing.WAITS, Doing.STEPS, Doing.DEVICE}
    if main.aborted and reading.doing not in waits:
        return None
    kernel = [s for s in last if s.kind is StackKind.KERNEL]
    stuck = next((s for s in kernel if read_stack(s).doing is Doing.STORAGE), None)
    path = trimmed(main, reading)
    hosts = (s.origin.host for s in stacks if s.origin.host is not None)
    pids = (s.origin.pid for s in stacks if s.origin.pid is not None)
    doing = Doing.STORAGE if stuck is not None else reading.doing
    return StackState(
        rank=key[0],
        host=next(hosts, key[1]),
        pid=next(pids, key[2]),
        doing=doing,
        phase=reading.phase,
        certain=reading.certain,
        fits=reading.fits or (doing is Doing.STORAGE and reading.phase in MOVE_BYTES),
        op=reading.op,
        frame=place_of((stuck or main).frames[-1 if stuck is not None else reading.at]),
        code=own_code(main, reading),
        path=path,
        idle=main.idle,
        moved=_moved(snapshots),
        gil_taken_by=_gil(last),
        source=(stuck or main).source,
        group=main.group,
        peer=main.peer,
    )


def _snapshots(stacks: Sequence[ThreadStack]) -> list[list[ThreadStack]]:
    """Points in time: a thread that is printed again begins the next one of its kind.

    The kernel's and gdb's view of the last moment belong to Python's.
    """
    snapshots: list[list[ThreadStack]] = []
    seen: set[object] = set()
    others: list[ThreadStack] = []
    for stack in stacks:
        if stack.kind is not StackKind.PYTHON:
            others.append(stack)
            continue
        name = (stack.source.artifact, stack.tid, stack.thread)
        if not snapshots or name in seen or stack.source.artifact not in {s[0] for s in seen}:  # type: ignore[index]
            snapshots.append([])
            seen = set()
        seen.add(name)
        snapshots[-1].append(stack)
    if not snapshots:
        return [others]
    snapshots[-1].extend(others)
    return snapshots


def _moved(snapshots: Sequence[Sequence[ThreadStack]]) -> bool:
    """Whether the process stood at other code of Python's before.

    Only stacks of one file count: those of another may be hours older, or another tool's.
    """
    mains = [main_thread(s) for s in snapshots if any(t.kind is StackKind.PYTHON for t in s)]
    places = {_places(main) for main in mains if main.source.artifact == mains[-1].source.artifact}
    return len(places) > 1


def _places(stack: ThreadStack) -> tuple[tuple[str, int | None], ...]:
    """The lines of Python's code; native frames are there only when they were asked for."""
    return tuple((bare(f.function), f.line) for f in stack.frames if f.file.endswith(".py"))


def _gil(stacks: Sequence[ThreadStack]) -> str | None:
    """The thread that keeps the interpreter lock in native code, where another one wants it."""
    wanted = [s for s in stacks if any(f.function in _GIL_WANTED for f in s.frames)]
    if not wanted:
        return None
    for stack in stacks:
        if stack in wanted:
            continue
        python = any("PyEval" in f.function or f.file.endswith(".py") for f in stack.frames)
        inner = stack.frames[-1].function.lstrip("_")
        if stack.gil or (python and inner.startswith(_GIL_PARTS)):
            return f"{stack.thread or stack.tid}: {stack.frames[-1].function}"
    return None
