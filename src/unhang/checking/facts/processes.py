"""Cores for each rank, limits of a process, shared memory, ports, processes that are stuck."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator

from unhang.checking.control_group import control_files
from unhang.checking.host import Fact, Host, Skip, failed, passed, warned
from unhang.model.ids import format_ranks
from unhang.model.preflight import Stage

_DOCKER_SHM = 64 << 20
"""What Docker gives a container (`--shm-size`)."""
_SHM_OF_RANK = 1 << 30
"""Primus' node check wants 8 GiB for a host of eight GPUs."""
_FILES, _FEW_FILES = 65_536, 1_024
_MEMLOCK = 32 << 30
"""Primus' node check; NCCL's troubleshooting page says "unlimited"."""
_PORTS, _FEW_PORTS = 10_000, 1_000
_PROCESSES = 4_096
_STUCK_S = 1.0
_ZOMBIES = 100


def cores(host: Host) -> Iterator[Stage]:
    """Cores that this process may use, for each rank: by affinity and by quota."""
    allowed = host.request.cores or len(os.sched_getaffinity(0))
    there = os.cpu_count() or allowed
    quota = _quota(host)
    usable = allowed if quota is None else min(float(allowed), quota)
    ranks = host.request.ranks
    each = usable / ranks
    values = {"cores": round(usable, 2), "ranks": ranks, "each": round(each, 2), "there": there}
    gpus = any(name.startswith("nvidia") for name in host.names("/dev"))
    if each < 1 and usable < there:
        yield failed("cores_taken", "NCCL: proxy threads need a core of their own", **values)
    elif each < 1:
        yield warned("cores_few", **values)
    elif gpus and each < 2:
        yield warned("cores_tight", "NCCL: proxy threads need a core of their own", **values)
    yield passed("cores", **values)


def _quota(host: Host) -> float | None:
    """Cores by the quota of the nearest control group that has one."""
    for folder in control_files(host, "cpu"):
        quota, _, period = (host.find(f"{folder}/cpu.max") or "").partition(" ")
        if quota.isdigit() and period.isdigit():
            return int(quota) / int(period)
        of_old = host.number(f"{folder}/cpu.cfs_quota_us")
        period_us = host.number(f"{folder}/cpu.cfs_period_us")
        if of_old is not None and of_old > 0 and period_us:
            return of_old / period_us
    return None


def shared_memory(host: Host) -> Iterator[Stage]:
    """Size of `/dev/shm`: NCCL's and the data loader's buffers lie there."""
    try:
        space = os.statvfs(host.path("/dev/shm"))  # noqa: S108 (looked at, not written)
    except OSError as error:
        raise Skip("unreadable", path="/dev/shm", error=error.strerror or "") from error  # noqa: S108
    size, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    ranks = host.request.ranks
    values = {"size": size, "free": free, "ranks": ranks}
    if size <= _DOCKER_SHM:
        yield failed("shm_small", "Docker's default is 64 MiB", **values)
    elif size < _SHM_OF_RANK * ranks:
        yield warned("shm_tight", "Primus node-smoke: 8 GiB for eight GPUs", **values)
    elif free < size // 10:
        yield warned("shm_full", **values)
    yield passed("shm", **values)


def limits(host: Host) -> Iterator[Stage]:
    """Limits that a process inherits."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    endless = resource.RLIM_INFINITY
    rdma = bool(host.names("/sys/class/infiniband"))
    if files != endless and files <= _FEW_FILES:
        yield warned("limit_files", files=files, wanted=_FILES)
    if rdma and locked != endless and locked < _MEMLOCK:
        yield failed("limit_memlock", "NCCL troubleshooting: memlock unlimited", locked=locked)
    if processes != endless and processes < _PROCESSES:
        yield warned("limit_processes", processes=processes, wanted=_PROCESSES)
    yield from _tasks(host)
    found = {
        name: None if value == endless else value
        for name, value in (("files", files), ("memlock_bytes", locked), ("processes", processes))
    }
    yield passed("limits", found)


def _tasks(host: Host) -> Iterator[Stage]:
    for folder in control_files(host, "pids"):
        most, used = host.number(f"{folder}/pids.max"), host.number(f"{folder}/pids.current")
        if most is not None and used is not None and used > most * 0.9:
            yield failed("limit_tasks", used=used, most=most)
            return


def ports(host: Host) -> Iterator[Stage]:
    """Ephemeral ports: every connection of a group needs one, and keeps it for a minute."""
    name = "/proc/sys/net/ipv4/ip_local_port_range"
    low, _, high = host.text(name).strip().partition("\t")
    if not (low.isdigit() and high.isdigit()):
        raise Skip("no_field", path=name, field="range")
    count = int(high) - int(low) + 1
    values = {"count": count, "low": int(low), "high": int(high)}
    if count < _FEW_PORTS:
        yield failed("ports_few", "kernel.org: ip-sysctl, default 32768-60999", **values)
    elif count < _PORTS:
        yield warned("ports_few", "kernel.org: ip-sysctl, default 32768-60999", **values)
    yield passed("ports", **values)


def stuck(host: Host) -> Iterator[Stage]:
    """Processes that the kernel holds (state D in two looks), and zombies."""
    first = _in_state(host, "D")
    time.sleep(_STUCK_S)
    held = first & _in_state(host, "D")
    zombies = _in_state(host, "Z")
    if held:
        names = [host.find(f"/proc/{pid}/comm") or "?" for pid in sorted(held)[:5]]
        yield warned("stuck", count=len(held), pids=format_ranks(sorted(held)[:20]),
                     names=", ".join(names))  # fmt: skip
    if len(zombies) > _ZOMBIES:
        yield warned("zombies", count=len(zombies))
    yield passed("not_stuck", zombies=len(zombies))


def _in_state(host: Host, state: str) -> frozenset[int]:
    """Numbers of the processes in a state; kernel threads wait in D for a living."""
    found = set()
    for name in host.names("/proc"):
        if name.isdigit():
            text = host.find(f"/proc/{name}/stat") or ""
            fields = text[text.rfind(")") + 2 :].split()
            if fields[:1] == [state] and fields[1] != "2":
                found.add(int(name))
    return frozenset(found)


FACTS = (
    Fact(name="cores", look=cores),
    Fact(name="shm", look=shared_memory),
    Fact(name="limits", look=limits),
    Fact(name="ports", look=ports),
    Fact(name="processes", look=stuck, limit_s=8.0),
)
