"""From a host, or a cluster that a launcher has started, to whether a job can begin there."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime, timezone
from pathlib import Path

from unhang.checking.asking import ask
from unhang.checking.baseline import compare_baseline, read_baseline
from unhang.checking.host import HostRequest
from unhang.checking.job_file import JobFile, read_job
from unhang.checking.verdict import judged, verdict_of
from unhang.errors import UsageError
from unhang.model.preflight import CheckReport

__all__ = ["CheckReport", "check"]


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
        raise UsageError(f"{checkpoint} is no folder; name the one that checkpoints go to")
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
