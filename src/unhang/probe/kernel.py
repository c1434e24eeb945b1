"""What the kernel says of this process.

Each system call that Python makes may hand the GIL to another thread and have to win it back, which
costs the training more than the call: files stay open, and one `pread` reads one.
"""

from __future__ import annotations

import os
import time
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST = 4096


class Usage:
    """Files of this process under /proc.

    Raises:
        OSError: there are none.
    """

    def __init__(self) -> None:
        self._memory, self._moved = (
            os.open(f"/proc/self/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in ("statm", "io")
        )

    def now(self) -> dict[str, Any]:
        """CPU seconds of all threads, resident bytes, and bytes moved by system calls."""
        resident = int(os.pread(self._memory, _MOST, 0).split()[1]) * _PAGE
        moved = dict(line.split(b": ") for line in os.pread(self._moved, _MOST, 0).splitlines())
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
