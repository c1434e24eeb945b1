"""Clock, kernel log, releases, and the lint of the environment."""

from __future__ import annotations

import ctypes
import platform
import re
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from unhang import __version__
from unhang.capturing.specs.kernel_log import later_than
from unhang.checking.host import Fact, Host, Skip, failed, passed, warned
from unhang.linting import lint_settings
from unhang.model.events import KernelEvent, KernelProblem
from unhang.model.lint import Severity
from unhang.model.preflight import Stage
from unhang.parsers.kernel_log import KernelLogParser
from unhang.settings.binary import NotElf, find_nccl, read_nccl
from unhang.settings.versions import at_least
from unhang.sources.line import Line

_RECENT_S = 900
_GRAVE = frozenset(
    {
        *(KernelProblem.XID, KernelProblem.NVSWITCH, KernelProblem.PCIE_ERROR),
        KernelProblem.GPU_FAULT,
        *(KernelProblem.BLOCKED_TASK, KernelProblem.STORAGE_STALL, KernelProblem.LINK_DOWN),
    }
)
_OF_A_PROGRAM = frozenset({13, 31, 43, 45, 68})
"""Xids that a program's own error causes (NVIDIA's Xid catalogue): no sign of a bad GPU."""
_MACHINE_CHECK = re.compile(r"mce: .*(?:Hardware Error|Machine check events logged)")
_UNSYNCHRONISED = 0x40
_TIMEX_WORDS, _STATUS_WORD = 64, 5
_DRIVERS = (("13", "580"), ("12", "525.60.13"), ("11", "450.80.02"))
"""CUDA's release notes, "minor version compatibility": the least driver for each major release."""


def clock(_host: Host) -> Iterator[Stage]:
    """Whether the kernel thinks that its clock is kept right; logs are compared by it."""
    words = (ctypes.c_long * _TIMEX_WORDS)()  # struct timex; modes = 0 changes nothing
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(words)) < 0:
        raise Skip("no_program", program="adjtimex")
    status = words[_STATUS_WORD] & 0xFFFFFFFF
    kept = not status & _UNSYNCHRONISED
    # A guest's clock may be kept right from outside: only the offset between hosts decides.
    yield passed("clock" if kept else "clock_loose", {"synchronised": kept})


def kernel_log(host: Host) -> Iterator[Stage]:
    """Faults of GPUs, memory, links, storage in the last quarter of an hour."""
    ran = host.run("dmesg", "--time-format", "iso", "--nopager", limit_s=4.0)
    if ran.code != 0:
        raise Skip("unreadable", path="dmesg", error=ran.err[:120] or f"exit code {ran.code}")
    yield from judge_kernel_log(
        later_than(time.time() - _RECENT_S, ran.out).decode("utf-8", "replace")
    )


def judge_kernel_log(text: str) -> Iterator[Stage]:
    """What the lines of a kernel log tell against a host."""
    parser = KernelLogParser()
    for number, line in enumerate(text.splitlines(), start=1):
        if _MACHINE_CHECK.search(line):
            yield failed("kernel_mce", text=line[-160:])
        for event in parser.feed(
            Line(artifact="dmesg", number=number, text=_message(line), raw=line)
        ):
            if isinstance(event, KernelEvent) and _is_of_host(event):
                grave = event.problem in _GRAVE
                yield (failed if grave else warned)(
                    "kernel_fault", kind=event.problem.value, text=_message(line)[:160]
                )
    yield passed("kernel_log")


def _is_of_host(event: KernelEvent) -> bool:
    if event.problem in (KernelProblem.LINK_UP, KernelProblem.SEGFAULT):
        return False
    return event.problem is not KernelProblem.XID or event.xid not in _OF_A_PROGRAM


def _message(line: str) -> str:
    """Without the time in front of it."""
    return re.sub(r"^\d{4}-\d\d-\d\dT\S+\s+", "", line)


def releases(host: Host) -> Iterator[Stage]:
    """Releases that all hosts must share, and those that do not fit each other."""
    torch = _installed("torch")
    nccl = _nccl()
    found = {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "unhang": __version__,
        "torch": torch,
        "nccl": nccl,
        "driver": _driver(host),
    }
    if torch is None:
        yield warned("no_torch")
    built = re.search(r"\+cu(\d\d)\d", torch or "")
    least = next((d for cuda, d in _DRIVERS if built is not None and built[1] == cuda), None)
    driver = found["driver"]
    if least is not None and driver is not None and at_least(driver, least) is False:
        yield failed("driver_old", "CUDA release notes", driver=driver, least=least, torch=torch)
    wanted = _wanted_nccl()
    if wanted is not None and nccl is not None and wanted != nccl:
        yield warned("nccl_differs", nccl=nccl, wanted=wanted, torch=torch)
    if host.environ.get("LD_PRELOAD", "").find("nccl") >= 0:
        yield warned("nccl_preloaded", value=host.environ["LD_PRELOAD"])
    yield passed("releases", found, torch=torch, nccl=nccl, driver=driver)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _nccl() -> str | None:
    path = find_nccl()
    if path is None:
        return None
    try:
        return read_nccl(path).version
    except (OSError, NotElf):
        return None


def _wanted_nccl() -> str | None:
    """The release of NCCL that the installed torch asks for."""
    try:
        wanted = requires("torch") or []
    except PackageNotFoundError:
        return None
    found = (re.match(r"nvidia-nccl-cu\d+==([\d.]+)", line) for line in wanted)
    return next((match[1] for match in found if match is not None), None)


def _driver(host: Host) -> str | None:
    text = host.find("/proc/driver/nvidia/version") or ""
    match = re.search(r"Kernel Module\s+(?:for \S+\s+)?(\d+\.\d+(?:\.\d+)?)", text)
    return None if match is None else match[1]


def environment(host: Host) -> Iterator[Stage]:
    """Settings that do nothing, or harm: what `unhang lint` says of this environment."""
    report = lint_settings(())
    for finding in report.findings:
        if finding.severity is not Severity.INFO:
            yield Stage(
                name="",
                status=warned("setting").status,
                message=finding.reason,
                do=warned("setting", setting=finding.setting, code=finding.code).do,
                measured={"setting": finding.setting, "value": finding.value, "code": finding.code},
            )
    settings = {
        name: value
        for name, value in host.environ.items()
        if name.startswith(("NCCL_", "TORCH_NCCL_", "GLOO_", "TORCH_DISTRIBUTED_", "UCX_"))
    }
    yield passed("environment", {"settings": settings}, count=len(settings))


FACTS = (
    Fact(name="clock", look=clock),
    Fact(name="kernel_log", look=kernel_log, limit_s=8.0),
    Fact(name="releases", look=releases, limit_s=9.0),
    Fact(name="environment", look=environment, limit_s=9.0),
)
