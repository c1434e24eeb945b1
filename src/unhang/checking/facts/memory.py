"""Memory: what is free on the host and in the control group, swap and where it lives, pressure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unhang.checking.control_group import control_files
from unhang.checking.host import Fact, Host, Skip, failed, passed, warned
from unhang.checking.mounts import REMOTE, mount_of, plain
from unhang.model.preflight import Stage

_LINE = re.compile(r"(?P<name>\w+):\s+(?P<kib>\d+) kB")
_LITTLE = 0.10
"""Share of memory: less is left to a job that has not begun yet."""
_LIMITED = 0.90
"""Of the control group's limit: the kernel reclaims, then kills."""
_PRESSED, _STALLED = 10.0, 60.0
"""Percent of the last minute in which all tasks waited for memory; systemd-oomd kills at 60
(oomd.conf, DefaultMemoryPressureLimit)."""


def memory(host: Host) -> Iterator[Stage]:
    """Free memory of the host and of the job's control group."""
    fields = {m["name"]: int(m["kib"]) << 10 for m in _LINE.finditer(host.text("/proc/meminfo"))}
    total, free = fields.get("MemTotal"), fields.get("MemAvailable")
    if not total or free is None:
        raise Skip("no_field", path="/proc/meminfo", field="MemAvailable")
    limit, used = _limit(host)
    found = {"total_bytes": total, "free_bytes": free, "limit_bytes": limit}
    if free < total * _LITTLE:
        yield warned("memory_low", free=free, total=total)
    if limit is not None and limit < total and used is not None and used > limit * _LIMITED:
        yield failed("memory_limit_near", used=used, limit=limit)
    elif limit is not None and limit < total / 2:
        yield warned("memory_limit", limit=limit, total=total)
    yield passed("memory", found, free=free, total=total)


def _limit(host: Host) -> tuple[int | None, int | None]:
    """What the control group allows and uses (page cache that can go is not counted)."""
    for folder in control_files(host, "memory"):
        for name, usage in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit = host.number(f"{folder}/{name}")
            if limit is not None and limit < 1 << 60:  # version 1 has no word for "no limit"
                return limit, _unreclaimable(host, folder, host.number(f"{folder}/{usage}"))
    return None, None


def _unreclaimable(host: Host, folder: str, used: int | None) -> int | None:
    stat = host.find(f"{folder}/memory.stat") or ""
    cache = re.search(r"^(?:total_)?inactive_file (\d+)", stat, re.MULTILINE)
    return used if used is None or cache is None else used - int(cache[1])


def swap(host: Host) -> Iterator[Stage]:
    """Swap on a network file system stops the host when memory is short: both need each other."""
    rows = [line.split() for line in host.text("/proc/swaps").splitlines()[1:]]
    rows = [row for row in rows if len(row) >= 4]
    for escaped, kind, size, used, *_ in rows:
        name = plain(escaped)
        mount = mount_of(host, name) if kind == "file" else None
        if mount is not None and REMOTE.fullmatch(mount.kind):
            yield failed(
                "swap_remote", "kernel.org: Documentation/filesystems/nfs, swap over NFS",
                path=name, kind=mount.kind, mount=mount.place,
            )  # fmt: skip
        elif name.startswith("/dev/nbd") or "/rbd" in name:
            yield failed("swap_remote", path=name, kind="network block device", mount=name)
        if int(used) > int(size) // 10:
            yield warned("swap_used", path=name, used=int(used) << 10, size=int(size) << 10)
    total = sum(int(row[2]) << 10 for row in rows)
    yield passed("swap" if rows else "swap_none", size=total, areas=len(rows))


def pressure(host: Host) -> Iterator[Stage]:
    """How long tasks waited for memory or the disk in the last minute (PSI)."""
    found: dict[str, object] = {}
    for kind in ("memory", "io"):
        text = host.text(f"/proc/pressure/{kind}")
        share = re.search(r"^full avg10=\S+ avg60=(\d+\.\d+)", text, re.MULTILINE)
        percent = 0.0 if share is None else float(share[1])
        found[f"{kind}_full_percent"] = percent
        if kind == "memory" and percent >= _STALLED:
            yield failed("pressure_memory", "oomd.conf(5)", percent=percent)
        elif kind == "memory" and percent >= _PRESSED:
            yield warned("pressure_memory", "oomd.conf(5)", percent=percent)
        elif percent >= _STALLED:
            yield warned("pressure_io", percent=percent)
    yield passed("pressure", found)


FACTS = (
    Fact(name="memory", look=memory),
    Fact(name="swap", look=swap),
    Fact(name="pressure", look=pressure),
)
