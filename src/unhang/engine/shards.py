"""Maps a function over shards of work; a worker that is killed costs only its shard."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from unhang import lazy_re as re
from unhang.errors import UsageError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.context import BaseContext

S = TypeVar("S")
R = TypeVar("R")

AT_ONCE = 4
"""Shards that wait for each worker: enough that none is idle, few enough to lose."""
_EVERY_S = 0.1
_RAY = re.compile(r"ray(://\S+)?")


@dataclass(frozen=True, slots=True)
class Engine:
    """Where shards run.

    Attributes:
        processes: of this machine; 1 = this one.
        ray: address of the Ray cluster whose workers run them instead; `auto` = the one of this
            host, or of RAY_ADDRESS.
    """

    processes: int = 1
    ray: str | None = None

    @classmethod
    def named(cls, name: str, processes: int | None) -> Engine:
        """The engine that a user asked for: `local`, `ray` or `ray://HOST:PORT`.

        Raises:
            UsageError: it is none of them.
        """
        processes = processes or cores()
        if name == "local":
            return cls(processes)
        if _RAY.fullmatch(name) is None:
            raise UsageError(f"engine {name}: expected local, ray or ray://HOST:PORT")
        return cls(processes, "auto" if name == "ray" else name)


def map_shards(
    function: Callable[[S], R],
    shards: Iterable[S],
    engine: Engine,
    *,
    files: Callable[[S], Iterable[str]] = lambda _shard: (),
    start: Callable[[], None] | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[S, R | None]]:
    """Yield each shard with its result, as it is there; None where every try killed its worker.

    Args:
        function: importable by its name, for other processes call it.
        shards: are taken one by one, shortly before they run.
        engine: where they run.
        files: local files that a shard reads; a worker elsewhere must see them.
        start: runs first in each process of this machine.
        tick: is called now and then.

    Raises:
        UsageError: there is no cluster, or its workers do not see the files.
    """
    if engine.ray is not None:
        from unhang.engine.on_ray import map_on_ray

        yield from map_on_ray(function, shards, engine.ray, files, tick)
    elif engine.processes <= 1:
        yield from ((shard, function(shard)) for shard in shards)
    else:
        from concurrent.futures import ProcessPoolExecutor

        new = partial(ProcessPoolExecutor, mp_context=fastest_context(), initializer=start)
        left = iter(shards)
        while not (yield from _in_one_pool(function, left, new, engine.processes, tick)):
            continue


def _in_one_pool(
    function: Callable[[S], R],
    left: Iterator[S],
    new: Callable[[int], ProcessPoolExecutor],
    processes: int,
    tick: Callable[[], None],
) -> Generator[tuple[S, R | None], None, bool]:
    """Take from `left` until all is done, which returns True, or until a process is killed."""
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    suspects: list[S] = []
    ended = False
    with new(processes) as pool:
        running: dict[Future[R], S] = {}
        while running or not (ended or suspects):
            while not (ended or suspects) and len(running) < AT_ONCE * processes:
                for shard in left:
                    try:
                        running[pool.submit(function, shard)] = shard
                    except BrokenProcessPool:
                        suspects.append(shard)
                    break
                else:
                    ended = True
            done, _ = wait(running, timeout=_EVERY_S, return_when=FIRST_COMPLETED)
            tick()
            for future in done:
                shard = running.pop(future)
                try:
                    yield shard, future.result()
                except BrokenProcessPool:
                    suspects.append(shard)
    for shard in suspects:  # any of them may have done it: each gets a process of its own
        with new(1) as pool:
            try:
                yield shard, pool.submit(function, shard).result()
            except BrokenProcessPool:
                yield shard, None
    return ended


def fastest_context() -> BaseContext:
    """Forking is fastest, and safe as long as there are no threads."""
    import multiprocessing

    forks = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if forks else "spawn")


def cores() -> int:
    """Cores that this process may use; a scheduler may have given it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
