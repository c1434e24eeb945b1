"""Maps a function over shards on the workers of a Ray cluster."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from unhang.engine.shards import AT_ONCE
from unhang.errors import UsageError

S = TypeVar("S")
R = TypeVar("R")

_RETRIES = 2
"""Other workers that a shard is given to when its worker was killed."""
_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class _NotThere:
    """A worker does not see a file."""

    path: str
    host: str


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Connect to a Ray cluster, unless this process is connected already.

    Raises:
        UsageError: there is no Ray, or no cluster answers.
    """
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise UsageError("Ray is not installed in this environment: pip install ray") from error
    if ray.is_initialized():
        yield ray
        return
    host, _, port = address.rpartition(":")
    with redirect_stdout(sys.stderr):  # Ray prints there of workers that died
        try:
            if host and port.isdigit() and "://" not in address:  # Ray itself tries for a minute
                socket.create_connection((host, int(port)), 5.0).close()
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray raises what its many layers raise
            said = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
            raise UsageError(f"no Ray cluster answers at {address}: {said}") from error
        try:
            yield ray
        finally:
            ray.shutdown()


def map_on_ray(
    function: Callable[[S], R],
    shards: Iterable[S],
    address: str,
    files: Callable[[S], Iterable[str]],
    tick: Callable[[], None],
) -> Iterator[tuple[S, R | None]]:
    """As `map_shards`; unhang, and what the shards name, must be there for all workers."""
    with cluster(address) as ray:
        workers = int(ray.cluster_resources().get("CPU", 1)) or 1
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_run)
        here = str(Path.cwd()), version("unhang")
        running: dict[Any, S] = {}
        left = iter(shards)
        ended = False
        while running or not ended:
            while not ended and len(running) < AT_ONCE * workers:
                for shard in left:
                    running[task.remote(*here, function, shard, tuple(files(shard)))] = shard
                    break
                else:
                    ended = True
            done, _ = ray.wait(list(running), timeout=_EVERY_S) if running else ([], [])
            tick()
            for ref in done:
                shard = running.pop(ref)
                yield shard, _result(ray, ref, function, shard)


def _result(ray: Any, ref: Any, function: Callable[[S], R], shard: S) -> R | None:  # noqa: ANN401
    try:
        found = ray.get(ref)
    except ray.exceptions.RayTaskError as error:  # what the function raised
        if isinstance(error.cause, UsageError):
            raise error.cause from None
        said = str(error.cause).strip().splitlines()[-1][:200]
        raise UsageError(f"Ray's workers cannot run unhang ({said}); install it there") from error
    except ray.exceptions.RayError:  # its worker was killed again and again
        return None
    if not isinstance(found, _NotThere):
        return found  # type: ignore[no-any-return]
    if Path(found.path).exists():
        raise UsageError(
            f"{found.path} is not visible to Ray's worker on {found.host}; put it on a file system"
            " that all nodes share, or name it by a URL (s3://…)"
        )
    return function(shard)  # it is gone here, too


def _run(
    folder: str, release: str, function: Callable[[S], R], shard: S, files: Iterable[str]
) -> R | _NotThere:
    """Runs on a worker, in the folder of the caller so that relative paths mean the same."""
    host = socket.gethostname()
    if version("unhang") != release:
        raise UsageError(
            f"Ray's worker on {host} has unhang {version('unhang')}, this is {release}:"
            " install the same on all nodes"
        )
    with suppress(OSError):
        os.chdir(folder)
    for path in files:
        if not Path(path).exists():
            return _NotThere(path, host)
    return function(shard)
