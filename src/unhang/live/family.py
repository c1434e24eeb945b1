"""CPU time of the helpers of each rank: loaders, compilers, shells and copies it has started.

A rank that waits for its helpers uses no CPU time itself; while they do, it is at work. Reading the
parents of all processes costs some tenths of a second on hosts with many thousands of them, so it
is done every few seconds only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from unhang.live import kernel

_EVERY_S = 2.0
_SHARE = 0.005
"""Of one core that looking may take; a host with many processes is looked at less often."""


@dataclass(slots=True)
class Families:
    """What the helpers of each rank have used, as it was read last.

    Args:
        clock: monotonic seconds, which also tell what looking costs.
    """

    clock: Callable[[], float]
    used_s: Mapping[int, float] = field(default_factory=dict)
    next_s: float = float("-inf")

    def look(self, ranks: Iterable[int]) -> Mapping[int, float]:
        """Return CPU seconds of the living descendants of each rank that are no ranks themselves.

        Args:
            ranks: process numbers. One without helpers has 0.
        """
        began_s = self.clock()
        if began_s >= self.next_s:
            self.used_s = _used_by(frozenset(ranks))
            cost_s = self.clock() - began_s
            self.next_s = began_s + max(_EVERY_S, cost_s / _SHARE)
        return self.used_s


def _used_by(ranks: frozenset[int]) -> dict[int, float]:
    stats = {pid: stat for pid in _all_pids() if (stat := kernel.read_stat(pid)) is not None}
    owners: dict[int, int | None] = {pid: pid for pid in ranks}
    used_s = dict.fromkeys(ranks, 0.0)
    for pid, stat in stats.items():
        owner = _owner(pid, stats, owners)
        if owner is not None and pid not in ranks:
            used_s[owner] += stat.cpu_s
    return used_s


def _owner(pid: int, stats: Mapping[int, kernel.Stat], owners: dict[int, int | None]) -> int | None:
    """The nearest ancestor that is a rank; found ones are remembered."""
    path: list[int] = []
    while pid not in owners and pid in stats and pid not in path:
        path.append(pid)
        pid = stats[pid].parent
    owner = owners.get(pid)
    owners.update(dict.fromkeys(path, owner))
    return owner


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
