"""What `/proc` says of one process: state, CPU time, bytes, exit status; Linux only.

Fields of `/proc/<pid>/stat` are those of proc(5), counted after the name of the command, which may
hold blanks and brackets itself.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from unhang.live.messages.reports import ProcessFacts

_STATE, _PARENT, _MINOR, _MAJOR, _USER_TICKS, _SYSTEM_TICKS = 0, 1, 7, 9, 11, 12
"""Indexes of the fields 3, 4, 10, 12, 14 and 15."""
_STARTED, _PAGES, _EXIT = 19, 21, 49
"""Indexes of the fields 22, 24 and 52."""

_NOT_SLEEPING = ("0", "")


@dataclass(frozen=True, slots=True)
class Stat:
    """One reading of `/proc/<pid>/stat`.

    Attributes:
        started_ticks: since boot; with the number it names a process for good.
        wait_status: as `waitpid` gives it; for a zombie that we may look into, else 0.
    """

    state: str
    parent: int
    cpu_s: float
    started_ticks: int
    rss_bytes: int
    faults: int
    wait_status: int


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes that a process has moved since it began.

    Attributes:
        read: by system calls, from files and sockets alike.
        written: likewise.
        stored: into file systems that keep them on a device or a server.
    """

    read: int
    written: int
    stored: int


def read_stat(pid: int, thread: int | None = None) -> Stat | None:
    """Read that of a process, or of one of its threads; None when there is none."""
    path = f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat"
    try:
        text = _read(path)
    except OSError:
        return None
    fields = text[text.rfind(")") + 2 :].split()
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    return Stat(
        state=fields[_STATE],
        parent=int(fields[_PARENT]),
        cpu_s=ticks / _ticks_per_s(),
        started_ticks=int(fields[_STARTED]),
        rss_bytes=int(fields[_PAGES]) * _page_bytes(),
        faults=int(fields[_MINOR]) + int(fields[_MAJOR]),
        wait_status=int(fields[_EXIT]) if len(fields) > _EXIT else 0,
    )


def facts_of(pid: int, stat: Stat) -> ProcessFacts:
    """Everything about a process that was there a moment ago."""
    moved = bytes_of(pid)
    if stat.state in "ZX":
        # The kernel shows the status only to who may look into the process; so it does the bytes.
        status = stat.wait_status if moved is not None else None
        code, number = (None, None) if status is None else split_status(status)
        return ProcessFacts(
            alive=False, state=stat.state, cpu_s=stat.cpu_s, exit_code=code, signal=number
        )
    main = runs_of(pid)
    wchan = _wchan(pid)
    return ProcessFacts(
        alive=True,
        state=stat.state,
        cpu_s=stat.cpu_s,
        main_cpu_s=None if main is None else main.used_s,
        main_delayed_s=None if main is None else main.delayed_s,
        main_runs=None if main is None else main.turns,
        rss_bytes=stat.rss_bytes,
        faults=stat.faults,
        read_bytes=None if moved is None else moved.read,
        write_bytes=None if moved is None else moved.written,
        stored_bytes=None if moved is None else moved.stored,
        wchan=wchan,
        lock_holder=lock_holder(pid) if "lock" in (wchan or "") else None,
    )


def split_status(status: int) -> tuple[int | None, int | None]:
    """Exit code and signal of a wait status; one of them is None.

    >>> split_status(3 << 8), split_status(9)
    ((3, None), (None, 9))
    """
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (None, -code)


def started_s(stat: Stat) -> float:
    """When it began, by `time.monotonic()` of this host."""
    return seconds(stat.started_ticks) - _suspended_s()


def seconds(ticks: int) -> float:
    """Ticks of the kernel, as those since boot at which a process began."""
    return ticks / _ticks_per_s()


def marked(variable: str, value: str) -> list[int]:
    """All processes of ours that began with this in their environment."""
    mark = f"{variable}={value}".encode()
    return [pid for pid in all_pids() if mark in _environment(pid)]


def all_pids() -> list[int]:
    """Every process that this one can see."""
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or it has gone
        return []


def bytes_of(pid: int) -> Moved | None:
    """What it has moved so far; None where that is not for us to know, or it has gone."""
    try:
        lines = _read(f"/proc/{pid}/io").splitlines()
    except OSError:
        return None
    values = {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}
    return Moved(values["rchar"], values["wchar"], values["write_bytes"])


class Runs(NamedTuple):
    """What the scheduler has counted of one thread.

    Attributes:
        used_s: CPU seconds, finer than those of `stat`.
        delayed_s: for which it was ready to run and had to wait for a core.
        turns: how often it was given one.
    """

    used_s: float
    delayed_s: float
    turns: int


def runs_of(pid: int, thread: int | None = None) -> Runs | None:
    """Read what the scheduler counts of a thread; None when there is none.

    Args:
        pid: of the process.
        thread: its number; None = the main thread.
    """
    path = f"/proc/{pid}/schedstat" if thread is None else f"/proc/{pid}/task/{thread}/schedstat"
    try:
        used, delayed, turns = map(int, _read(path).split())
    except (OSError, ValueError):  # gone, or a kernel without these counters
        return None
    return Runs(used / 1e9, delayed / 1e9, turns)


def lock_holder(pid: int) -> int | None:
    """The process that has the lock of a file which a process waits for, by `/proc/locks`.

    Rows of waiters follow the row of the lock that they wait for, under the same number.
    """
    try:
        rows = [line.split() for line in _read("/proc/locks").splitlines()]
    except OSError:
        return None
    holders = {row[0]: row[4] for row in rows if len(row) > 4 and row[1] != "->"}
    waited = (row[0] for row in rows if len(row) > 5 and row[1] == "->" and row[5] == str(pid))
    holder = next((holders[number] for number in waited if number in holders), "")
    return int(holder) if holder.isdigit() else None


def threads_of(pid: int) -> list[int]:
    """Numbers of its threads but the main one; none when it has gone."""
    try:
        return [int(e.name) for e in os.scandir(f"/proc/{pid}/task") if int(e.name) != pid]
    except OSError:
        return []


def send_if_caught(pid: int, number: int) -> None:
    """Send a signal to a process that has a handler for it; of any other it may be the end."""
    with contextlib.suppress(OSError):
        rows = dict(row.split(":\t", 1) for row in _read(f"/proc/{pid}/status").splitlines())
        if int(rows["SigCgt"], 16) >> (number - 1) & 1:
            os.kill(pid, number)


def _wchan(pid: int) -> str | None:
    try:
        name = _read(f"/proc/{pid}/wchan")
    except OSError:
        return None
    return None if name in _NOT_SLEEPING else name


def _suspended_s() -> float:
    """For how long the host slept: boot time counts that, the monotonic clock does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()


@cache
def _ticks_per_s() -> int:
    return os.sysconf("SC_CLK_TCK")


@cache
def _page_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")
