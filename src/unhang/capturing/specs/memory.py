"""Memory of the node and of the job's control group: used, allowed, and kills for want of it."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.capturing.source_context import SourceContext, sections
from unhang.capturing.spec import About, Piece, Spec

_HOST = (
    *("/proc/meminfo", "/proc/loadavg", "/proc/vmstat", "/proc/pressure/memory"),
    *("/proc/pressure/io", "/proc/pressure/cpu", "/proc/sys/kernel/yama/ptrace_scope"),
)
_V2 = (
    *("memory.current", "memory.max", "memory.high", "memory.peak", "memory.swap.current"),
    *("memory.swap.max", "memory.events", "memory.stat", "memory.pressure", "io.pressure"),
    *("cpu.max", "cpu.stat", "pids.current", "pids.max", "cgroup.freeze"),
)
_V1 = {
    "memory": (
        *("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.failcnt"),
        "memory.oom_control",
    ),
    "cpu,cpuacct": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat"),
    "pids": ("pids.current", "pids.max"),
}
_ROOT = "/sys/fs/cgroup"


def gather(context: SourceContext) -> Iterator[Piece]:
    """One file; what this kernel does not have is left out."""
    paths = [*_HOST, *_groups(context)]
    data, missing = sections(context.heads(paths))
    if data:
        yield Piece(name="memory.txt", data=data)
    if missing is not None:
        raise missing


def _groups(context: SourceContext) -> list[str]:
    """Files of the control groups that the ranks are in, seen from the host or from a container."""
    paths: list[str] = []
    cgroups = [f"/proc/{process.pid}/cgroup" for process in context.job.ranks[:1]]
    for answer in context.heads(cgroups):
        for line in answer.text.splitlines():
            paths.extend(_of_line(line))
    return list(dict.fromkeys(paths))


def _of_line(line: str) -> list[str]:
    """The files for one line of `/proc/PID/cgroup`."""
    _, _, rest = line.partition(":")
    controllers, _, group = rest.partition(":")
    group = "" if group == "/" else group
    if not controllers:
        return [f"{_ROOT}{place}/{name}" for place in {group: 0, "": 0} for name in _V2]
    names = _V1.get(controllers, ())
    return [f"{_ROOT}/{controllers}{place}/{n}" for place in {group: 0, "": 0} for n in names]


SPEC = Spec(name="memory", about=About.HOST, gather=gather, limit_s=5.0, order=3)
