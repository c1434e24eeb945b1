"""The folder of the checkpoints: space, inodes, quota, kind, real speed; does a save fit?"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir

from unhang.checking.host import Fact, Host, HostRequest, Skip, failed, passed, warned
from unhang.checking.job_file import JobFile, read_job
from unhang.checking.mounts import mount_of
from unhang.errors import UsageError
from unhang.model.preflight import Stage
from unhang.planning import build_request, make_plan
from unhang.planning.storage import measure_together, measure_write

_SPACE, _TIGHT_SPACE = 1 << 30, 10 << 30
_INODES = 10_000
_SLOW = 100_000_000
"""Bytes per second, as of a hard disk: 16 GB, eight billion weights, take nearly three minutes."""
_LEAST, _ENOUGH_S, _SYNCED = 4 << 20, 1.2, 4 << 20
_FILES, _FILES_S = 1_000, 1.5
_SLOW_FILE_S = 0.01
"""Of one small file: 1,000 of them take ten seconds."""
_MARGIN = 1.5


def scratch(_host: Host) -> Iterator[Stage]:
    """The folder for temporary files, where caches, sockets and compiled code go."""
    folder = gettempdir()
    free, inodes, _ = _space(folder)
    if free < _SPACE // 4 or inodes == 0:
        yield failed("tmp_full", path=folder, free=free)
    elif free < _SPACE:
        yield warned("tmp_full", path=folder, free=free)
    yield passed("tmp", path=folder, free=free)


def storage(host: Host) -> Iterator[Stage]:
    """The folder of the checkpoints, measured by writing to it; all that is written is removed."""
    job, folder = _told(host.request)
    if not folder:
        raise Skip("no_checkpoint")
    free, inodes, total = _space(folder)
    mount = mount_of(host, os.path.realpath(folder))
    kind = None if mount is None else mount.kind
    found: dict[str, object] = {"path": folder, "kind": kind, "free_bytes": free, "inodes": inodes}
    if not os.access(folder, os.W_OK):
        yield failed("storage_read_only", path=folder, kind=kind)
        return
    if free < _SPACE:
        yield failed("storage_full", path=folder, free=free)
    elif free < _TIGHT_SPACE:
        yield warned("storage_full", path=folder, free=free)
    if inodes is not None and inodes < _INODES:
        yield failed("storage_inodes", path=folder, inodes=inodes)
    if kind in ("overlay", "tmpfs"):
        yield warned("storage_fleeting", path=folder, kind=kind)
    yield from _quota(host, folder)
    if not host.request.measure:
        yield passed("storage_unmeasured", found, path=folder, free=free, total=total)
        return
    one, all_together, file_s = _speeds(Path(folder, host.request.scratch), host.request.ranks)
    found |= {"one_writer": one, "all_writers": all_together, "small_file_s": round(file_s, 5)}
    if one < _SLOW:
        yield warned("storage_slow", path=folder, speed=one, kind=kind)
    if file_s > _SLOW_FILE_S:
        yield warned("storage_files_slow", path=folder, each=file_s, kind=kind)
    yield from _save(job, one, all_together, free)
    yield passed("storage", found, path=folder, kind=kind, free=free, one=one,
                 together=all_together)  # fmt: skip


def scratch_of(request: HostRequest) -> Path | None:
    """The folder that measuring makes, and that is left behind where it is ended.

    Raises:
        UsageError: the configuration of the job cannot be read.
    """
    folder = _told(request)[1]
    return Path(folder, request.scratch) if folder and request.measure else None


def _told(request: HostRequest) -> tuple[JobFile, str | None]:
    job = read_job(Path(request.job)) if request.job else JobFile()
    return job, request.checkpoint or job.checkpoint


def _space(folder: str) -> tuple[int, int | None, int]:
    """Free bytes, free inodes (None where the file system counts none), and all bytes."""
    try:
        space = os.statvfs(folder)
    except OSError as error:
        raise Skip("unreadable", path=folder, error=error.strerror or "") from error
    inodes = space.f_favail if space.f_files else None
    return space.f_bavail * space.f_frsize, inodes, space.f_blocks * space.f_frsize


def _quota(host: Host, folder: str) -> Iterator[Stage]:
    """What `quota` tells of this user; where it is not installed, nothing is known."""
    try:
        ran = host.run("quota", "-w", "-p", limit_s=2.0)
    except Skip:
        return
    mount = mount_of(host, os.path.realpath(folder))
    for line in ran.out.decode(errors="replace").splitlines():
        fields = line.split()
        if mount is not None and fields[:1] == [mount.source] and len(fields) >= 4:
            used, limit = (int(re.sub(r"\D", "", text) or 0) << 10 for text in fields[1:3])
            if limit and used > limit * 0.9:
                yield failed("storage_quota", path=folder, used=used, limit=limit)


def _speeds(own: Path, writers: int) -> tuple[int, int, float]:
    """Bytes per second of one writer and of all, and seconds for one small file."""
    measure = partial(measure_write, least=_LEAST, enough_s=_ENOUGH_S, synced=_SYNCED)
    try:
        own.mkdir(mode=0o700)
        try:
            one = measure(own)
            if one < _SLOW:  # a moment in which the host was busy is not the storage's
                one = max(one, measure(own))
            together = measure_together(own, writers, measure) if writers > 1 else one
            return one, together, _small_files(own)
        finally:
            rmtree(own, ignore_errors=True)
    except (OSError, UsageError) as error:
        raise Skip("unreadable", path=str(own.parent), error=str(error)) from error


def _small_files(folder: Path) -> float:
    begun = time.perf_counter()
    done = 0
    while done < _FILES and time.perf_counter() - begun < _FILES_S:
        (folder / f"{done}").write_bytes(b"unhang")
        done += 1
    return (time.perf_counter() - begun) / done


def _save(job: JobFile, one: int, together: int, free: int) -> Iterator[Stage]:
    """Whether the job's checkpoint fits on this storage, and into its own time limit."""
    if "model" not in job.plan:
        return
    asked = {**job.plan, "write_speed": one, "write_speed_total": max(one, together)}
    plan = make_plan(build_request(**asked))
    save = next(save for save in plan.saves if save.style is plan.chosen)
    wait = save.wait_s or 0.0
    values = {
        "size": save.size_bytes, "speed": one, "wait_s": round(wait, 1),
        "timeout_s": job.timeout_s, "basis": job.basis,
    }  # fmt: skip
    if save.size_bytes > free:
        yield failed("save_no_room", free=free, **values)
    if wait > job.timeout_s:
        yield failed("save_too_long", timeout_ms=job.timeout_s * 1000, **values)
    elif wait * _MARGIN > job.timeout_s:
        yield warned("save_close", **values)
    else:
        yield passed("save_fits", **values)


FACTS = (
    Fact(name="tmp", look=scratch),
    Fact(name="storage", look=storage, limit_s=9.0, alone=True),
)
