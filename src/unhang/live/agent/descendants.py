"""What the helpers of each rank do: its threads, and the loaders, compilers and shells it began.

A rank that waits for its helpers does nothing itself; while they do, it is at work. The parent of
a process is asked once, when the process is new: hosts have thousands of others. Threads are looked
at only while the main thread rests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from unhang.live.agent import kernel

_YOUNGEST = 8
"""Helpers of a rank that are told one by one."""
_RESTS_S = 0.002
"""CPU time of a main thread between two looks below which its helper threads are looked at."""


@dataclass(frozen=True, slots=True)
class Helped:
    """The helpers of one rank.

    Attributes:
        processes: its living helper processes.
        used_s: CPU seconds of these.
        moved_bytes: that these have read and written; None = not readable.
        stored_bytes: that these have stored, likewise.
        threads_s: CPU seconds of its threads without the main one and the probe's; None = unknown.
        delayed_s: for which these and its helper processes had to wait for a core; likewise.
        under: the nearest rank's process above it; None = it descends from no rank.
        young: when its youngest helpers of both kinds began, by the monotonic clock, and how often
            each was given a core.
    """

    processes: int = 0
    used_s: float = 0.0
    moved_bytes: int | None = 0
    stored_bytes: int | None = 0
    threads_s: float | None = None
    delayed_s: float | None = None
    under: int | None = None
    young: tuple[tuple[float, int], ...] = ()


@dataclass(slots=True)
class Descendants:
    """Whose helper each process of this host is.

    Attributes:
        owners: the rank's process above each process, or None; the process itself for a rank.
    """

    owners: dict[int, int | None] = field(default_factory=dict)
    _threads: dict[int, dict[int, float]] = field(default_factory=dict)
    _main_s: dict[int, float] = field(default_factory=dict)
    _under: dict[int, int | None] = field(default_factory=dict)

    def look(self, ranks: Mapping[int, int | None]) -> dict[int, Helped]:
        """Return the living descendants of each rank that are no ranks themselves, and its threads.

        Args:
            ranks: process numbers, each with the number of its probe's thread where it is known.
        """
        found = dict.fromkeys(ranks, Helped())
        for rank in ranks:
            self.owners[rank] = rank
        stats = self._meet(frozenset(kernel.all_pids()))
        helpers: dict[int, list[tuple[float, kernel.Runs]]] = {rank: [] for rank in ranks}
        for pid, owner in self.owners.items():
            if owner is None or owner == pid or owner not in found:
                continue
            stat = stats.get(pid) or kernel.read_stat(pid)
            if stat is not None:
                found[owner] = _with_child(found[owner], pid, stat)
                runs = kernel.runs_of(pid)
                helpers[owner] += [] if runs is None else [(kernel.started_s(stat), runs)]
        for rank, probe in ranks.items():
            threads = self._rest(rank, probe)
            if threads is not None:
                helpers[rank] += threads
                found[rank] = replace(
                    found[rank],
                    threads_s=sum(runs.used_s for _, runs in threads),
                    delayed_s=sum(runs.delayed_s for _, runs in helpers[rank]),
                )
        return {
            rank: replace(
                helped,
                under=self._rank_above(rank),
                young=tuple(
                    sorted(((b, r.turns) for b, r in helpers[rank]), reverse=True)[:_YOUNGEST]
                ),
            )
            for rank, helped in found.items()
        }

    def _rank_above(self, pid: int) -> int | None:
        """The rank that started a rank, directly or by a launcher: that is a job of its own."""
        if pid not in self._under:
            stat, seen = kernel.read_stat(pid), {pid}
            while stat is not None and stat.parent not in seen:
                seen.add(stat.parent)
                if self.owners.get(stat.parent) == stat.parent:
                    break
                stat = kernel.read_stat(stat.parent)
            self._under[pid] = None if stat is None or stat.parent == pid else self._owner(stat)
        return self._under[pid]

    def _owner(self, stat: kernel.Stat) -> int | None:
        return stat.parent if self.owners.get(stat.parent) == stat.parent else None

    def _rest(self, pid: int, probe: int | None) -> list[tuple[float, kernel.Runs]] | None:
        """Begin and runs of each helper thread; None while the main thread runs."""
        main = kernel.runs_of(pid)
        before_s = self._main_s.get(pid)
        if main is None:
            return None
        self._main_s[pid] = main.used_s
        if probe is None or before_s is None or main.used_s - before_s > _RESTS_S:
            return None
        known = self._threads.get(pid, {})
        began = {n: known.get(n) or _began(pid, n) for n in kernel.threads_of(pid) if n != probe}
        self._threads[pid] = began
        told = ((at, kernel.runs_of(pid, number)) for number, at in began.items())
        return [(at, runs) for at, runs in told if runs is not None]

    def _meet(self, pids: frozenset[int]) -> dict[int, kernel.Stat]:
        """Forget processes that are gone, and find the owners of new ones."""
        for pid in self.owners.keys() - pids:
            del self.owners[pid]
            self._threads.pop(pid, None)
            self._main_s.pop(pid, None)
            self._under.pop(pid, None)
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


def _with_child(helped: Helped, pid: int, stat: kernel.Stat) -> Helped:
    moved = kernel.bytes_of(pid)
    both, stored = (None, None) if moved is None else (moved.read + moved.written, moved.stored)
    return replace(
        helped,
        processes=helped.processes + 1,
        used_s=helped.used_s + stat.cpu_s,
        moved_bytes=_plus(helped.moved_bytes, both),
        stored_bytes=_plus(helped.stored_bytes, stored),
    )


def _plus(sum_: int | None, more: int | None) -> int | None:
    return None if sum_ is None or more is None else sum_ + more


def _began(pid: int, thread: int) -> float:
    stat = kernel.read_stat(pid, thread)
    return 0.0 if stat is None else kernel.started_s(stat)
