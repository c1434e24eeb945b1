"""Where the control group of this process keeps its limits: version 1 and 2, in containers too."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.checking.host import Host

_ROOT = "/sys/fs/cgroup"


def control_files(host: Host, controller: str) -> Iterator[str]:
    """Folders to look in, the nearest first; an ancestor's limit holds as well."""
    for line in (host.find("/proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers:
            base = _ROOT
        elif controller in controllers.split(","):
            base = f"{_ROOT}/{controllers}"
            if not host.names(base):
                base = f"{_ROOT}/{controller}"
        else:
            continue
        parts = [part for part in group.split("/") if part and part != ".."]
        for length in range(len(parts), -1, -1):
            yield "/".join((base, *parts[:length]))
