"""Where and how often a job saves, as far as the judge sees it, and what an end would lose.

A rank saves while its stack stands in a save and it stores bytes, or while it stores about as many
at once as in a save that was seen: small saves are over between two looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from unhang.live.judge.track import Track
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase

_LEAST_BYTES = 64 * 1_024
"""Logs and counters are less."""
_LOG_BYTES = 4 * 1_024
"""Between two looks: a program logs while it goes on."""
_ALIKE = 0.5
"""So much of a known save is another one."""
_QUIET_S = 5.0
"""A save in which nothing was stored for so long is over, or does not move."""
_GAP_S = 2.5
"""The same where no stack says that a save goes on: what comes later is another one."""
_KEPT = 64


@dataclass(slots=True)
class _StoringRank:
    """What one rank has stored.

    Attributes:
        stored: at the last look.
        burst: since it began to store without a pause, in bytes.
        saves: its stack stood in a save meanwhile.
        moved_s: when it stored last, by the monitor's clock.
        place: where its program stood then.
    """

    stored: int
    burst: int = 0
    saves: bool = False
    moved_s: float = float("-inf")
    place: str = ""


@dataclass(slots=True)
class Checkpoints:
    """The saves of one start of a job.

    Attributes:
        began_s: when its first rank was seen, by the monitor's clock.
        at_s: ends of the saves that were seen, likewise, the newest last.
        place: where the program stood in the last one; "" = unknown.
        steps: that were done at the last one; None = unknown.
    """

    began_s: float | None = None
    at_s: list[float] = field(default_factory=list)
    place: str = ""
    steps: int | None = None
    _writers: dict[Rank, _StoringRank] = field(default_factory=dict)
    _usual: int | None = None

    def look(self, tracks: Mapping[Rank, Track], now_s: float) -> None:
        """Take the ranks of a new moment."""
        if self.began_s is None and tracks:
            self.began_s = now_s - max(map(_age_s, tracks.values()))
        for rank, track in tracks.items():
            stored = track.facts.stored_bytes
            if stored is None:
                continue
            writer = self._writers.setdefault(rank, _StoringRank(stored))
            new, writer.stored = max(0, stored - writer.stored), stored
            saving = track.place.phase is Phase.SAVE
            if not saving and new < _LOG_BYTES:
                new = 0
            if new:
                writer.burst, writer.moved_s = writer.burst + new, now_s
            if saving and (new or writer.burst):
                writer.saves, writer.place = True, track.place.place
            # Between two looks a rank may not have been heard, or a slow device stored nothing.
            over = not saving and now_s - writer.moved_s > _GAP_S
            if over and writer.burst:
                self._end(writer, track)

    def unsaved_s(self, now_s: float) -> float:
        """Seconds of work that an end would lose, as far as anybody has seen."""
        since_s = self.at_s[-1] if self.at_s else self.began_s
        return 0.0 if since_s is None else max(0.0, now_s - since_s)

    @property
    def interval_s(self) -> float | None:
        """Usual time between two saves; None = fewer than two were seen."""
        pauses = [b - a for a, b in zip(self.at_s, self.at_s[1:], strict=False)]
        return median(pauses) if pauses else None

    def saving(self, now_s: float) -> Ranks:
        """Ranks that are storing something now: an end would leave half a file."""
        least = _LEAST_BYTES if self._usual is None else min(self._usual, 4 * _LEAST_BYTES)
        moving = (
            rank
            for rank, writer in self._writers.items()
            if now_s - writer.moved_s < _QUIET_S and writer.burst >= least
        )
        return frozenset(moving) or NO_RANKS

    def _end(self, writer: _StoringRank, track: Track) -> None:
        """A rank has stored something, and does no more."""
        size, saves, place = writer.burst, writer.saves, writer.place
        writer.burst, writer.saves = 0, False
        known = self._usual is not None and size >= _ALIKE * self._usual
        if size < _LEAST_BYTES or not (saves or known):
            return
        if saves:
            self._usual = size if self._usual is None else max(size, self._usual // 2)
        if self.at_s and writer.moved_s - self.at_s[-1] < _QUIET_S:
            self.at_s[-1] = max(self.at_s[-1], writer.moved_s)  # another rank's part of it
        else:
            self.at_s = [*self.at_s[-_KEPT:], writer.moved_s]
        self.place, self.steps = place or self.place, track.beat.steps


def _age_s(track: Track) -> float:
    """How long ago its process began; we may have come later."""
    began_s = track.beat.process_started_s
    return 0.0 if began_s is None else max(0.0, track.beat.wall_s - began_s)
