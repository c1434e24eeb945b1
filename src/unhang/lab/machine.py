"""What this machine has, as far as drills need it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from unhang.errors import UsageError
from unhang.lab.drill import Drill, Need

_WHY = {
    Need.ROOT: "run it as root",
    Need.NAMESPACES: "run it as root where `ip netns` and `tc` (iproute2) are installed",
    Need.COMPILER: "install one (g++), which torch.compile uses on CPUs",
}


def missing(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Those that this machine has not."""
    return tuple(need for need in sorted(needs, key=lambda n: n.value) if not _has(need))


def require(drill: Drill) -> None:
    """Refuse a drill that this machine cannot run.

    Raises:
        UsageError: something is missing; the message says what.
    """
    for need in missing(drill.needs):
        raise UsageError(f"drill '{drill.name}' needs {need.value}, found none; {_WHY[need]}")


def is_root() -> bool:
    """Whether this process may do everything."""
    return os.geteuid() == 0


def _has(need: Need) -> bool:
    if need is Need.COMPILER:
        return any(shutil.which(name) for name in ("g++", "clang++"))
    if need is Need.NAMESPACES:
        return is_root() and all(shutil.which(name) for name in ("ip", "tc"))
    return is_root()
