"""A disk without space."""

from __future__ import annotations

import os
import resource

from ..declared import Fault

_MIB = 1 << 20
_SMALL = 64 * _MIB


def fill(fault: Fault) -> None:
    """Fill the file system of `path`; where that is not a small one of the drill, limit files.

    A limit of the size of files (1 MiB) gives "File too large" instead of "No space left on
    device"; neither touches anybody else's disk.
    """
    path = str(fault.options.get("path", "."))
    os.makedirs(path, exist_ok=True)
    space = os.statvfs(path)
    if space.f_frsize * space.f_blocks > _SMALL:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_MIB, resource.RLIM_INFINITY))
        return
    with open(f"{path}/core.1", "wb") as file:
        try:
            while True:
                file.write(b"\0" * 4096)
                file.flush()
        except OSError:
            return
