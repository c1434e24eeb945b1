"""What the kernel's log says of processes that it killed; kept beside the output of the job.

A kill for memory is the one end that a job cannot tell of itself. The log is not for everybody to
read, and in a container the kernel may know a process by another number. What everybody may read is
how many processes of the host were killed for memory since it was started (`oom_kill` of
/proc/vmstat, Linux 4.13 and later): where that did not rise, memory was not the reason.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from pathlib import Path

from unhang import lazy_re as re
from unhang.parsers.kernel_log import COUNTED

_COMMAND = ("dmesg", "--time-format", "iso", "--nopager")
_LIMIT_S = 3.0
_MOST_LINES = 20
_COUNTED = re.compile(r"^oom_kill (\d{1,18})$", re.MULTILINE)
_KILLED = re.compile(r"Killed process (?P<pid>\d+) |oom-kill:.*,pid=(?P<oom>\d+)(?:,|$)")


def count_kills(vmstat: Path = Path("/proc/vmstat")) -> int | None:
    """How many processes this kernel has killed for memory; None where it does not tell."""
    try:
        text = vmstat.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    match = _COUNTED.search(text)
    return None if match is None else int(match[1])


def keep_kills(pids: Collection[int], path: Path, counted_before: int | None = None) -> None:
    """Write the lines on kills of these processes, and how many were killed while the job ran.

    Args:
        pids: ranks that a SIGKILL ended; for none, nothing is written.
        path: where to.
        counted_before: what `count_kills` told when the job began.

    Raises:
        OSError: they cannot be written.
    """
    lines = kills_of(pids, _read()) if pids else []
    counted = count_kills() if pids and counted_before is not None else None
    if counted is not None and counted_before is not None:
        lines.append(f"{COUNTED} {counted - counted_before}")
    if lines:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def kills_of(pids: Collection[int], text: str) -> list[str]:
    """The last lines of a kernel log that tell that it killed one of some processes.

    >>> line = "2026-11-21T07:00:00,1+00:00 Out of memory: Killed process 18546 (python)"
    >>> kills_of({18546}, line) == [line], kills_of({1854}, line)
    (True, [])
    """
    found = []
    for line in text.splitlines():
        match = _KILLED.search(line)
        if match is not None and int(match["pid"] or match["oom"]) in pids:
            found.append(line)
    return found[-_MOST_LINES:]


def _read() -> str:
    try:
        done = subprocess.run(  # noqa: S603 - words of our own
            _COMMAND,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
