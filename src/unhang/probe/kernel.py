"""What the kernel says of this process."""

from __future__ import annotations

import os
import time
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")


def usage() -> dict[str, Any]:
    """CPU seconds of all threads, resident bytes, and bytes moved by system calls."""
    with open("/proc/self/statm", "rb") as file:
        resident = int(file.read().split()[1]) * _PAGE
    with open("/proc/self/io", "rb") as file:
        moved = dict(line.split(b": ") for line in file.read().splitlines())
    return {
        "cpu_s": round(time.process_time(), 3),
        "rss_bytes": resident,
        "read_bytes": int(moved[b"rchar"]),
        "write_bytes": int(moved[b"wchar"]),
    }


def started_s() -> float:
    """When this process began, epoch seconds."""
    with open("/proc/self/stat", "rb") as file:
        # The name of the program is in parentheses and may hold blanks.
        fields = file.read().rpartition(b")")[2].split()
    since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot
