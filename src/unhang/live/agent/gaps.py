"""Finds what no look shows: clocks that jumped, captures left half done, ranks that nobody saw."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import Beat
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.layout import RunFolder
from unhang.model.capture import SUFFIX

_SMALL_S = 2.0
"""Clocks are set right by so much without anybody noticing."""


class Jumps:
    """Watches the host's clock against that of the run.

    Args:
        clock: of the run.

    Attributes:
        back_s: how far the host's clock was at most behind that of the run, as a negative number;
            times of files are its.
    """

    def __init__(self, clock: RunClock) -> None:
        self._clock = clock
        self._ahead_s = 0.0
        self.back_s = 0.0

    def look(self) -> Loss | None:
        """Say by how much it has jumped since the last look."""
        ahead_s = self._clock.ahead_s()
        jumped_s, self._ahead_s = ahead_s - self._ahead_s, ahead_s
        self.back_s = min(self.back_s, ahead_s)
        if abs(jumped_s) < _SMALL_S:
            return None
        return Loss.of("clock_jumped", by=round(jumped_s, 1), at=self._clock.stamp())


def interrupted_captures(folder: RunFolder) -> list[Loss]:
    """Captures that an earlier agent of this run has begun and not brought to an end."""
    numbers = sorted(int(p.name) for p in folder.captures.glob("*") if p.name.isdigit())
    return [
        Loss.of("bundle_interrupted", number=number)
        for number in numbers
        if not (folder.captures / f"{number}{SUFFIX}").exists()
    ]


def started_again(beats: Iterable[Beat], ended: frozenset[int]) -> bool:
    """Whether ranks have come after those processes, which somebody was about to end."""
    started_s = {b.pid: b.process_started_s or 0.0 for b in beats if b.rank is not None}
    last_s = max((at_s for pid, at_s in started_s.items() if pid in ended), default=0.0)
    return any(at_s > last_s for pid, at_s in started_s.items() if pid not in ended)


def unseen(beats: Collection[Beat], *, one_host: bool) -> list[Loss]:
    """What the last beats of all processes that were ever seen leave open.

    Args:
        beats: of every process.
        one_host: all ranks of the job are here, so that one that is missing was not seen.
    """
    ranks = [beat for beat in beats if beat.rank is not None]
    if not ranks:
        return [Loss.of("nothing_seen")]
    last = max(beat.restart or 0 for beat in ranks)
    latest = [beat for beat in ranks if (beat.restart or 0) == last]
    seen = {beat.rank for beat in latest}
    sizes = [beat.world_size for beat in latest if beat.world_size is not None]
    found = []
    if one_host and sizes and len(seen) < max(sizes):
        found.append(Loss.of("ranks_unseen", seen=len(seen), count=max(sizes)))
    without = frozenset(b.rank for b in latest if b.torch is None and b.rank is not None)
    if without:
        found.append(Loss("no_torch", ranks=without))
    return found
