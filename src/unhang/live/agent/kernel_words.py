"""What the kernel's log says of processes that it killed; kept beside the output of the job.

A kill for memory is the one end that a job cannot tell of itself. The log is not for everybody to
read, and in a container the kernel may know a process by another number: then nothing is kept.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from pathlib import Path

_COMMAND = ("dmesg", "--time-format", "iso", "--nopager")
_LIMIT_S = 3.0
_MOST_LINES = 20
_KILLED = re.compile(r"Killed process (?P<pid>\d+) |oom-kill:.*,pid=(?P<oom>\d+)(?:,|$)")


def keep_kills(pids: Collection[int], path: Path) -> None:
    """Write the lines on kills of these processes, if there are any.

    Raises:
        OSError: they cannot be written.
    """
    lines = kills_of(pids, _read()) if pids else []
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
