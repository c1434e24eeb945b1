"""From what ranks show, look by look, to how long steps, phases and saves take, and to settings.

Nothing here accuses anybody. A phase that has not ended by itself is not counted: how long it would
have taken nobody knows.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unhang.live.judge.track import ProcessKey, Track
from unhang.model.ids import Rank
from unhang.model.measurements import (
    MeasuredSave,
    PhaseTimes,
    RankSetting,
    RunMeasurements,
    StepTimes,
)
from unhang.model.phases import Phase

_KEPT = 256
_FINENESS = math.log(1.02)
"""Steps are counted in classes, each two percent longer than the one below it."""
_MOST_SETTINGS = 200
_LEAST_BYTES = 64 << 10
"""Who stores less while others save writes its log."""


@dataclass(slots=True)
class _Stay:
    """A rank in a phase: since when, and what it had stored by then."""

    phase: Phase | None
    since_s: float
    stored: int | None


@dataclass(slots=True)
class _Durations:
    count: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0
    latest_s: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def add(self, lasted_s: float) -> None:
        self.count += 1
        self.total_s += lasted_s
        self.longest_s = max(self.longest_s, lasted_s)
        self.latest_s.append(round(lasted_s, 3))


@dataclass(slots=True)
class Measuring:
    """What was measured so far."""

    ranks: set[Rank] = field(default_factory=set)
    _stays: dict[ProcessKey, _Stay] = field(default_factory=dict)
    _steps: dict[ProcessKey, int] = field(default_factory=dict)
    _step_classes: Counter[int] = field(default_factory=Counter)
    _longest_step_s: float = 0.0
    _phases: dict[Phase, _Durations] = field(default_factory=dict)
    _saves: deque[MeasuredSave] = field(default_factory=lambda: deque(maxlen=_KEPT))
    _settings: dict[Rank, Mapping[str, str]] = field(default_factory=dict)

    def look(self, tracks: Mapping[Rank, Track], now_s: float) -> None:
        """Take the ranks of a new moment."""
        self.ranks.update(tracks)
        for rank, track in tracks.items():
            self._stay(rank, track, now_s)
            if track.beat.environment is not None:
                self._settings[rank] = track.beat.environment
        if tracks:
            self._count_steps(tracks[min(tracks)])

    def told(
        self, at_s: float, world_size: int | None, tracks: Mapping[Rank, Track]
    ) -> RunMeasurements:
        """Everything so far."""
        return RunMeasurements(
            at_s=at_s,
            ranks=frozenset(self.ranks),
            world_size=world_size,
            steps=self._step_times(),
            phases=tuple(
                PhaseTimes(
                    phase=phase,
                    count=seen.count,
                    total_s=round(seen.total_s, 3),
                    longest_s=round(seen.longest_s, 3),
                    latest_s=tuple(seen.latest_s),
                )
                for phase, seen in self._phases.items()
            ),
            saves=tuple(self._saves),
            settings=tuple(self._told_settings(tracks)),
        )

    def _stay(self, rank: Rank, track: Track, now_s: float) -> None:
        phase, stored = shown_phase(track), track.facts.stored_bytes
        stay = self._stays.get(track.key)
        if stay is not None and (stay.phase is phase or phase is None):
            return
        self._stays[track.key] = _Stay(phase, now_s, stored)
        if stay is None or stay.phase is None:
            return
        lasted_s = now_s - stay.since_s
        self._phases.setdefault(stay.phase, _Durations()).add(lasted_s)
        if stay.phase is not Phase.SAVE or stored is None or stay.stored is None:
            return
        if (size := stored - stay.stored) >= _LEAST_BYTES:
            at_s, seconds = round(track.beat.wall_s, 3), round(lasted_s, 3)
            self._saves.append(MeasuredSave(at_s=at_s, rank=rank, size_bytes=size, seconds=seconds))

    def _count_steps(self, track: Track) -> None:
        """New steps count with the mean of the beats between which they were done."""
        done = track.beat.steps
        if done is None:
            return
        before = self._steps.get(track.key)
        self._steps[track.key] = done
        if before is None or done <= before or not track.step_s or track.step_s <= 0:
            return
        self._step_classes[math.floor(math.log(track.step_s) / _FINENESS)] += done - before
        self._longest_step_s = max(self._longest_step_s, track.step_s)

    def _step_times(self) -> StepTimes | None:
        count = self._step_classes.total()
        if not count:
            return None
        return StepTimes(
            count=count,
            median_s=self._quantile(0.5, count),
            p99_s=self._quantile(0.99, count),
            longest_s=self._longest_step_s,
        )

    def _quantile(self, share: float, count: int) -> float:
        passed = 0
        for number in sorted(self._step_classes):
            passed += self._step_classes[number]
            if passed >= share * count:
                return float(f"{math.exp((number + 0.5) * _FINENESS):.4g}")
        raise AssertionError("the classes hold all steps")

    def _told_settings(self, tracks: Mapping[Rank, Track]) -> Iterator[RankSetting]:
        by_value: dict[tuple[str, str], set[Rank]] = {}
        for rank, environment in self._settings.items():
            for name, value in environment.items():
                by_value.setdefault((name, value), set()).add(rank)
        for rank, track in tracks.items():
            for group in track.beat.groups.values():
                if group.user_timeout_ms is not None:
                    name = f"timeout {group.desc or group.name}"
                    value = f"{group.user_timeout_ms / 1000:g} s"
                    by_value.setdefault((name, value), set()).add(rank)
        for (name, value), ranks in sorted(by_value.items())[:_MOST_SETTINGS]:
            yield RankSetting(name=name, value=value, ranks=frozenset(ranks))


def shown_phase(track: Track) -> Phase | None:
    """The phase that a rank is in: of its work, not of a wait below the step."""
    if track.ended:
        return None
    if track.place.phase is not None:
        return track.place.phase
    return Phase.TRAIN if track.beat.steps else None
