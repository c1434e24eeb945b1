"""What a drill changes around its job, each undone at the end: a disk, a port, control groups."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from unhang.lab.machine import is_root

_GROUPS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
_SMALL = "4m"
_NAMED = re.compile(r" [\w.-]+\[(?P<pid>\d+)\]: ")


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[bool]:
    """Mount a file system of 4 MiB at `path` where root may; whether it is there."""
    path.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL}", "unhang-drill", str(path)]
    mounted = is_root() and _done(command)
    try:
        yield mounted
    finally:
        if mounted:
            _done(["umount", "--lazy", str(path)])


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """A port that this process listens on."""
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as taken:
        taken.bind(("::", 0))
        taken.listen()
        yield int(taken.getsockname()[1])


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def remove_control_groups(pids: Iterable[int]) -> None:
    """Remove the memory groups that faults made for processes that are gone."""
    for pid in pids:
        for root in _GROUPS:
            with contextlib.suppress(OSError):
                Path(root, f"unhang-drill-{pid}").rmdir()


class KernelLog:
    """What the kernel says from now on, where it may be read."""

    def __init__(self) -> None:
        # The ring of the kernel is of one size: once it is full, its number of lines stays.
        self._last = next(reversed(_kernel_lines()), None)

    def save(self, path: Path, pids: Iterable[int]) -> None:
        """Write the new lines if they tell of one of these processes; others run here too."""
        ours = {str(pid) for pid in pids}
        told = _kernel_lines()
        new = told[told.index(self._last) + 1 :] if self._last in told else told
        lines = [line for line in new if _may_be_of(line, ours)]
        text = "\n".join(lines)
        if any(re.search(rf"\b{pid}\b", text) for pid in ours):
            path.write_text(text + "\n", encoding="utf-8")


def _may_be_of(line: str, pids: set[str]) -> bool:
    """Whether a line that names a process as `python[18358]: segfault` names one of these."""
    named = _NAMED.search(line)
    return named is None or named["pid"] in pids


def _kernel_lines() -> list[str]:
    try:
        done = subprocess.run(
            ["dmesg", "--time-format", "iso"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError:
        return []
    return done.stdout.splitlines()


def _done(command: list[str]) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False
