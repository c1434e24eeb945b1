"""Desks for sources of evidence, and real processes to ask about."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from unhang.capturing.deadline import Deadline
from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.processes import JobProcess, ProcessRole, find_below
from unhang.capturing.source_context import SourceContext
from unhang.capturing.spec import Piece, Spec
from unhang.engine.reading import read_artifact
from unhang.model.events import Event
from unhang.model.ids import Rank
from unhang.sources.artifact import Artifact
from unhang.sources.discover import OpenFile
from unhang.sources.hints import origin_of


def context(
    process: JobProcess | None = None,
    *others: JobProcess,
    limit_s: float = 60.0,
    run_folder: Path | None = None,
    dumps: tuple[Path, ...] = (),
    signal: int | None = None,
    deadline: Deadline | None = None,
) -> SourceContext:
    """Where a source works."""
    job = JobOnNode(
        host="h",
        processes=(*(() if process is None else (process,)), *others),
        run_folder=run_folder,
        dumps=dumps,
        signal=signal,
        deadline=deadline,
    )
    until = time.monotonic() + limit_s
    return SourceContext(job=job, process=process, until=until, limit_bytes=1 << 20)


def take(spec: Spec, at: SourceContext) -> dict[str, bytes]:
    """What a source gives, by name; raises its `Stop`."""
    found: list[Piece] = list(spec.gather(at))
    return {piece.name: piece.data for piece in found}


def ours(**environment: str) -> JobProcess:
    """This process, as if it were rank 3 and had begun five seconds ago."""
    return JobProcess(
        pid=os.getpid(),
        parent=1,
        state="S",
        name="python",
        started_s=time.time() - 5,
        environment=environment,
        words=(sys.executable, "train.py", f"--out={Path.cwd()}"),
        role=ProcessRole.RANK,
        rank=Rank(3),
    )


READY = "import os, pathlib, time; pathlib.Path(os.environ['READY']).touch()\n"
"""Begins a program that `started` waits for, or ends its first part."""


@contextmanager
def started(
    program: str, *, stdout: int = subprocess.DEVNULL, **environment: str
) -> Iterator[JobProcess]:
    """A Python program as the process of rank 3, once it has made the file that READY names."""
    ready = Path(f"/tmp/unhang-test-{os.getpid()}-{time.monotonic_ns()}")
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", program],
        env={**os.environ, "RANK": "3", "READY": str(ready), **environment},
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for _ in range(600):
            if ready.exists() or child.poll() is not None:
                break
            time.sleep(0.05)
        assert ready.exists(), "the program did not begin"
        yield next(p for p in find_below([child.pid]) if p.pid == child.pid)
    finally:
        os.killpg(child.pid, 9)
        child.wait()
        ready.unlink(missing_ok=True)


@cache
def may_trace() -> bool:
    """Whether py-spy is installed and this system lets it look into our processes."""
    py_spy = Path(sys.executable).parent / "py-spy"
    if not py_spy.exists():
        return False
    with started(f"{READY}time.sleep(60)") as process:
        words = [str(py_spy), "dump", "--pid", str(process.pid)]
        done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    return done.returncode == 0


def events_of(path: Path, name: str | None = None) -> list[Event]:
    """What the parsers say of a file, as if it were called `name`."""
    origin = origin_of(name or path.name)
    events, problems = read_artifact(
        Artifact(name=name or path.name, open=OpenFile(str(path)), origin=origin)
    )
    assert problems == []
    return events
