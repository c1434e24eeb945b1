"""From lines of the kernel log to faults of GPUs, memory, links, storage and processes.

Reads, with or without `host kernel:` and a time in front::

    NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=python3, Timeout after 6s of waiting …
    NVRM: Xid (PCI:0000:dc:00): 45, pid=18990, name=python3, Ch 00000001 caused by previous Xid 149
    NVRM: GPU at 0000:07:00.0 has fallen off the bus.
    nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 28 LTSSM Fault Up
    Out of memory: Killed process 4711 (python3) total-vm:…kB, anon-rss:244000000kB, file-rss:…
    Memory cgroup out of memory: Killed process 4711 (python) …
    oom-kill:constraint=CONSTRAINT_MEMCG,…,task=python3,pid=4711,uid=0
    python3[4711]: segfault at 7f… ip … sp … error 6 in libtorch_cuda.so[…]
    traps: python3[4711] trap divide error ip:… in libcublasLt.so.12[…]
    mlx5_core 0000:5e:00.0 ib3: Link down
    pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received
    INFO: task python3:4711 blocked for more than 122 seconds.
    nfs: server 10.0.0.9 not responding, still trying
    DMAR: [DMA Read] Request device [3b:00.0] fault addr …
    nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x2c address=… flags=…]

Traps: Xid 45 is the clean-up of an earlier Xid; the process named in an Xid line is whoever touched
the GPU, not the cause; corrected PCIe errors and `OK` lines of NFS are no faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, KernelEvent, KernelProblem, MemoryKillsCounted
from unhang.model.forms import patterns_of
from unhang.parsers.base import LineParser, needles, place
from unhang.parsers.vocabulary.numbers import whole
from unhang.sources.line import Line

COUNTED = "unhang: processes of this host that the kernel killed for memory while the job ran:"
"""What the agent of a watched run writes beside these lines, before a number."""
_KILLS_COUNTED = re.compile(rf"{re.escape(COUNTED)} (?P<count>\d{{1,9}})$")
_P = KernelProblem
_HOST = re.compile(r"(?:^|\s)(?P<host>[A-Za-z][\w.\-]{0,63})\s+kernel:")
_PREVIOUS = re.compile(r"previous\s*Xid\s*(?P<xid>\d{1,3})")
_XID_PROCESS = re.compile(r"pid='?<?(?P<pid>\d{1,10})(?:.{0,24}?name=(?P<name>[\w.\-]{1,40}))?")
_RSS = re.compile(r"anon-rss:\s*(?P<kb>\d{1,15})\s*kB")
_CGROUP = re.compile(r"cgroup|CONSTRAINT_MEMCG", re.IGNORECASE)

_PATTERNS = patterns_of(KernelProblem, "unhang.parsers", "data/kernel_log.toml")
"""By problem; the first pattern that matches a line reads it."""

_FELL_OFF_BUS = 79
_AT = re.compile(r"device[ =]\[?((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d)")
"""The device that the IOMMU stopped."""
_KEPT_PER_FACT = 3
_DETAIL_LIMIT = 240


class KernelLogParser(LineParser, name="kernel-log", needles=(*needles("kernel-log"), COUNTED)):
    """Parser of the kernel log."""

    def __init__(self) -> None:
        self._said: dict[tuple[object, ...], int] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the fault on this line; a flood of one fault is cut after the first few."""
        counted = line.says(_KILLS_COUNTED)
        if counted is not None:
            yield MemoryKillsCounted(**place(line), count=int(counted["count"]))
            return
        for problem, pattern in _PATTERNS:
            match = line.says(pattern)
            if match is not None:
                event = _event(line, problem, match)
                if self._is_news(event):
                    yield event
                return

    def _is_news(self, event: KernelEvent) -> bool:
        process = None if event.problem is _P.XID else event.pid
        where = (event.origin.host, event.device, process)
        key = (event.problem, event.xid, event.previous_xid, *where)
        self._said[key] = self._said.get(key, 0) + 1
        return self._said[key] <= _KEPT_PER_FACT


def _event(line: Line, problem: KernelProblem, match: re.Match[str]) -> KernelEvent:
    """The event of a matched line; what a pattern has no group for is unknown."""
    groups = match.groupdict()
    what = groups.get("what") or ""
    event = KernelEvent(
        **place(line),
        problem=_refined(problem, what, line.text),
        xid=whole(groups.get("xid")),
        pid=whole(groups.get("pid")),
        process=groups.get("name"),
        device=(groups.get("device") or "").strip(":") or None,
        detail=what.strip()[:_DETAIL_LIMIT],
    )
    if problem is _P.XID:
        event = _with_xid(event, what)
    if problem is _P.IOMMU_FAULT and event.device is None and (at := _AT.search(what)) is not None:
        event = replace(event, device=at[1])
    if problem is _P.OOM_KILL and (rss := _RSS.search(what)) is not None:
        event = replace(event, rss_bytes=int(rss["kb"]) * 1024)
    host = _HOST.search(line.text)
    if host is not None and event.origin.host is None:
        event = replace(event, origin=replace(event.origin, host=host["host"]))
    return event


def _refined(problem: KernelProblem, what: str, text: str) -> KernelProblem:
    """Tell a cgroup's limit from the host's memory, and a link that came from one that went."""
    if problem is _P.OOM_KILL and _CGROUP.search(text):
        return _P.CGROUP_OOM
    if problem is _P.LINK_DOWN and what.lower() == "up":
        return _P.LINK_UP
    return problem


def _with_xid(event: KernelEvent, what: str) -> KernelEvent:
    """Add what stands behind the number: the process that met it and the Xid before it."""
    previous, process = _PREVIOUS.search(what), _XID_PROCESS.search(what)
    return replace(
        event,
        xid=_FELL_OFF_BUS if event.xid is None else event.xid,
        previous_xid=None if previous is None else int(previous["xid"]),
        pid=None if process is None else int(process["pid"]),
        process=None if process is None else process["name"],
    )
