"""From stacks whose process nobody names to their ranks, by what counts these processes.

Two things count them. A number in the lines above each stack, which are alike but for it::

    == 0 ==    # dump.1    Process 612: python3 -m pipe.run --stage 2    worker 3 stack

And the order in which one launcher starts the processes of a host: local ranks from 0 on, so that
their process ids rise with them (`torch/distributed/elastic/multiprocessing/api.py`, mpirun,
`torch.multiprocessing.spawn`; read 2026-11).

Traps: a launcher, a loader and a server have stacks, too; a host has only a part of the ranks; a
counter of hits or the time of day may run from 0 on by chance, so that all processes must have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from unhang.model.events import Event, StackKind, ThreadStack
from unhang.model.ids import Rank
from unhang.settings.frames import bare

_FEWEST, _MOST = 2, 1_024
_Process = tuple[str, str | None, int | None, int]


def number_stacks(events: Sequence[Event], world_size: int | None) -> list[Event]:
    """The events, with the stacks of unnamed processes signed with the ranks that count them."""
    processes = _processes(events)
    if not _FEWEST <= len(processes) <= _MOST:
        return list(events)
    highest = max((int(e.origin.rank) for e in events if e.origin.rank is not None), default=0)
    if highest >= (world_size or len(processes)):
        return list(events)
    ranks = _by_marks(processes, world_size) or _by_order(processes, world_size)
    if ranks is None:
        return list(events)
    told = {id(e): ranks[name] for name, stacks in processes.items() for e in stacks}
    return [
        replace(e, origin=replace(e.origin, rank=told[id(e)])) if id(e) in told else e
        for e in events
    ]


def _processes(events: Sequence[Event]) -> dict[_Process, list[ThreadStack]]:
    """The stacks of processes of which nobody tells anything; none where somebody tells of some."""
    found: dict[_Process, list[ThreadStack]] = {}
    places: dict[str, int] = {}
    pids = {e.pid for e in events if hasattr(e, "pid") and getattr(e, "rank", None) is not None}
    for event in events:
        if not isinstance(event, ThreadStack) or event.kind is StackKind.KERNEL:
            continue
        if event.aborted or any(bare(f.function) == "_worker_loop" for f in event.frames):
            return {}
        origin = event.origin
        axes = (origin.rank, origin.local_rank, origin.task, origin.actor)
        if any(axis is not None for axis in axes) or origin.pid in pids - {None}:
            return {}
        artifact = event.source.artifact
        if event.marks or artifact not in places:  # a main thread begins a process without a pid
            places[artifact] = places.get(artifact, 0) + 1
        place = places[artifact] if origin.pid is None else 0
        found.setdefault((artifact, origin.host, origin.pid, place), []).append(event)
    return found


def _by_marks(
    processes: Mapping[_Process, Sequence[ThreadStack]], world_size: int | None
) -> dict[_Process, Rank] | None:
    """By the number that stands above all of them, in lines that are alike but for it."""
    told = [dict(m for e in stacks for m in e.marks) for stacks in processes.values()]
    if world_size not in (None, len(told)):
        return None
    for words in dict.fromkeys(words for marks in told for words in marks):
        numbers = [marks.get(words) for marks in told]
        left = set(range(len(told))) - set(numbers)
        if numbers.count(None) == len(left) < min(2, len(told) - 1):
            # The first of such lines may stand above all that was read.
            counted = [left.pop() if n is None else n for n in numbers]
            return {name: Rank(n) for name, n in zip(processes, counted, strict=True)}
    return None


def _by_order(
    processes: Mapping[_Process, Sequence[ThreadStack]], world_size: int | None
) -> dict[_Process, Rank] | None:
    """By their pids, where they are the only host's: all of the job, or started one by one."""
    pids = {name[2]: name for name in processes if name[2] is not None}
    hosts = {name[1] for name in processes}
    if len(pids) != len(processes) or len(hosts) > 1 or len(pids) > _MOST_ON_A_HOST:
        return None
    if not _alike(processes.values()):
        return None
    close = max(pids) - min(pids) + 1 == len(pids) > _FEWEST and world_size is None
    if len(pids) != world_size and not close:
        return None
    return {pids[pid]: Rank(place) for place, pid in enumerate(sorted(pids))}


_MOST_ON_A_HOST = 16


def _alike(every: Iterable[Sequence[ThreadStack]]) -> bool:
    """Whether all processes run one program: their outermost own code is the same."""
    return len({_program(stacks) for stacks in every}) == 1


def _program(stacks: Sequence[ThreadStack]) -> str | None:
    """The file of the outermost frame of the main thread."""
    main = next((e for e in stacks if e.main is not False), stacks[0])
    return main.frames[0].file if main.kind is StackKind.PYTHON else None
