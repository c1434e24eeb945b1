"""CPU time of the helpers of each rank: loaders, compilers, shells and copies it has started.

A rank that waits for its helpers uses no CPU time itself; while they do, it is at work. The parent
of a process is asked once, when the process is new: hosts have thousands of others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from unhang.live.agent import kernel


@dataclass(slots=True)
class Families:
    """Whose helper each process of this host is.

    Attributes:
        owners: the rank's process above each process, or None; the process itself for a rank.
    """

    owners: dict[int, int | None] = field(default_factory=dict)

    def used_s(self, ranks: Iterable[int]) -> dict[int, float]:
        """Return CPU seconds of the living descendants of each rank that are no ranks themselves.

        Args:
            ranks: process numbers. One without helpers has 0.
        """
        used_s = dict.fromkeys(ranks, 0.0)
        for rank in used_s:
            self.owners[rank] = rank
        stats = self._meet(frozenset(kernel.all_pids()))
        for pid, owner in self.owners.items():
            if owner is not None and owner != pid and owner in used_s:
                stat = stats.get(pid) or kernel.read_stat(pid)
                used_s[owner] += 0.0 if stat is None else stat.cpu_s
        return used_s

    def _meet(self, pids: frozenset[int]) -> dict[int, kernel.Stat]:
        """Forget processes that are gone, and find the owners of new ones."""
        for pid in self.owners.keys() - pids:
            del self.owners[pid]
        read = ((pid, kernel.read_stat(pid)) for pid in pids - self.owners.keys())
        stats = {pid: stat for pid, stat in read if stat is not None}
        for pid in stats:
            path: list[int] = []
            above = pid
            while above not in self.owners and above in stats and above not in path:
                path.append(above)
                above = stats[above].parent
            self.owners.update(dict.fromkeys(path, self.owners.get(above)))
        return stats
