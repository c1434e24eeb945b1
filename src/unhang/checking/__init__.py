"""From a host, or a cluster that a launcher has started, to whether a job can begin there."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from unhang.checking.asking import ask
from unhang.checking.baseline import compare_baseline, read_baseline
from unhang.checking.cluster import ClusterRequest, Ramp
from unhang.checking.host import HostRequest
from unhang.checking.hub import Hub
from unhang.checking.job_file import JobFile, read_job
from unhang.checking.launched import Seat, find_seat
from unhang.checking.member import take_part
from unhang.checking.on_ray import check_on_ray
from unhang.checking.verdict import CODES, judged, verdict_of
from unhang.errors import UsageError
from unhang.model.host_lists import expand_hosts
from unhang.model.preflight import CheckReport, worst

__all__ = ["CODES", "CheckReport", "check", "check_cluster", "check_on_ray", "find_seat"]


def check(
    *,
    job: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    ranks: int = 1,
    measure: bool = True,
    baseline: str | os.PathLike[str] | None = None,
) -> CheckReport:
    """Look at this host before a job starts; nothing of the host is changed.

    Args:
        job: a framework's configuration, a launch script, or a verdict (JSON) of an earlier job:
            its time limits and its checkpoint are held against this host.
        checkpoint: the folder that checkpoints go to.
        ranks: of the job on this host.
        measure: whether the checkpoint's folder is measured by writing to it.
        baseline: an earlier report (JSON) to compare with.

    Returns:
        Every fact with its verdict; within 20 seconds.

    Raises:
        UsageError: a file cannot be read, or a number cannot be what it is said to be.
    """
    begun, at = time.monotonic(), datetime.now(timezone.utc)
    if ranks < 1:
        raise UsageError(f"ranks is {ranks}; expected at least 1")
    if checkpoint is not None and not Path(checkpoint).is_dir():
        raise UsageError(f"{checkpoint} is not a folder; name the one that checkpoints go to")
    known = JobFile() if job is None else read_job(Path(job))
    before = None if baseline is None else read_baseline(Path(baseline))
    request = HostRequest(
        ranks=ranks,
        checkpoint=os.fspath(checkpoint or ""),
        job=os.fspath(job or ""),
        first=known.first,
        measure=measure,
    )
    stages = ask(request)
    report = CheckReport(
        hosts=(socket.gethostname(),),
        world=ranks,
        at=at.isoformat(timespec="seconds"),
        verdict=verdict_of(stages, hosts=1),
        stages=stages,
        seconds=time.monotonic() - begun,
    )
    return report if before is None else judged(compare_baseline(report, before))


def check_cluster(
    seat: Seat,
    *,
    job: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    measure: bool = True,
    baseline: str | os.PathLike[str] | None = None,
    backend: str | None = None,
    join_s: float | None = None,
    hosts: str | None = None,
) -> CheckReport | int:
    """Take part in the check of a cluster; to be called by every rank.

    Args:
        seat: this process's place (`find_seat`).
        job: as of `check`; rank 0's counts, and so for the next three.
        checkpoint: likewise.
        measure: likewise.
        baseline: likewise.
        backend: `gloo` or `nccl`; None = nccl where there is a GPU.
        join_s: how long to wait for the other ranks.
        hosts: names of all hosts, with commas; None = the scheduler's.

    Returns:
        The report at rank 0; elsewhere the exit code that rank 0 decided.

    Raises:
        UsageError: rank 0 cannot be reached or cannot listen, or a file cannot be read.
    """
    known = JobFile() if job is None else read_job(Path(job))
    before = None if baseline is None else read_baseline(Path(baseline))
    backend = backend or ("nccl" if Path("/dev/nvidia0").exists() else "gloo")
    request = ClusterRequest(
        backend=backend,
        join_s=60.0 if join_s is None else join_s,
        expected=seat.expected if hosts is None else tuple(expand_hosts(hosts)),
        host=HostRequest(
            backend=backend,
            checkpoint=os.fspath(checkpoint or ""),
            job=os.fspath(job or ""),
            first=known.first,
            measure=measure,
        ),
    )
    if seat.rank != 0:
        return take_part(seat, request.backend, request.join_s)
    begun, at = time.monotonic(), datetime.now(timezone.utc)
    hub = Hub(seat.port, seat.key)
    own = threading.Thread(target=_own_part, args=(seat, request), name="unhang-rank0", daemon=True)
    own.start()
    ramp = Ramp(hub, seat.world, request)
    try:
        ramp.climb()
        isolation = ramp.isolation
        report = CheckReport(
            hosts=ramp.hosts,
            world=seat.world,
            at=at.isoformat(timespec="seconds"),
            verdict=verdict_of(ramp.results.stages, hosts=len(ramp.hosts)),
            stages=tuple(ramp.results.stages),
            suspects=tuple(ramp.results.suspects),
            pair_tests=0 if isolation is None else isolation.tests,
            rounds=0 if isolation is None else isolation.rounds,
            seconds=time.monotonic() - begun,
        )
        return report if before is None else judged(compare_baseline(report, before))
    finally:
        code = CODES[worst(stage.status for stage in ramp.results.stages)]
        for rank in list(hub.lines):
            hub.order(rank, {"do": "end", "code": code})
        own.join(5.0)
        hub.close()


def _own_part(seat: Seat, request: ClusterRequest) -> None:
    with contextlib.suppress(UsageError):  # rank 0 then misses itself, and says so
        take_part(replace(seat, address="127.0.0.1"), request.backend, request.join_s)
