"""What is remembered of one process from report to report: what moves, and for how long not.

Durations are sums of *observed* time: a gap in the reports (a suspended agent, a laptop that
slept, a network that was cut) adds little, so that what nobody saw never counts against anybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from unhang.live.judge.standpoints import NOWHERE, Standpoint, where
from unhang.live.messages.reports import Beat, ProcessFacts, ProcessReport
from unhang.model.ids import Rank
from unhang.model.phases import Phase

_MOVE_DATA = frozenset({Phase.SAVE, Phase.LOAD, Phase.DATA, Phase.LOGGING})

ProcessKey = tuple[str, int, float | None]
"""Host, process number, start of the process."""

STEP_S = 2.5
"""Most that the time between two reports counts."""

_CPU_SHARE = 0.05
"""Of one core: the probe and idle helper threads stay below it."""
_MAIN_SHARE = 0.001
"""Of one core: a main thread that sleeps, or looks ten times a second whether something has
come, stays below it; one that does a little work between pauses does not."""
_READ_PER_S = 64 * 1_024
"""The probe's own reading of `/proc` stays below it."""
_WRITTEN_PER_S = 32 * 1_024
"""Logs, and stacks that somebody has dumped every few seconds, stay below it."""
_TRICKLE_PER_S = 4 * 1_024
"""A save or a download to slow storage is at work also when it crawls."""
_CREST_PER_S = 2 * _TRICKLE_PER_S
_GROWN_BYTES = 1 << 20
"""The kernel counts the memory of a process in lots of some pages."""
_LOOKS_AROUND = 2
_SMOOTHED_S = 2.5
"""A trickle is judged by its mean over some seconds, in which a burst counts for no more than its
crest: neither a burst every few seconds nor its echo is work."""


@dataclass(slots=True)
class Still:
    """Observed seconds for which something has not changed; all begin at 0 with a change.

    Attributes:
        whole_s: nothing of the process moves, nor of its helpers: CPU, bytes, steps, calls, stack.
        place_s: its main thread stands at the same place of the program.
        line_s: the same, and it did no step, issued no call, and moved no bytes.
        calls_s: its open calls are the same.
        wakes: in how many reports since then its main thread had run for a moment.
        beat_s: its probe has not beaten.
        barren_s: the same, and it moved no bytes and took or gave back no memory since.
        stopped_s: it has been stopped by a signal or a debugger.
        ended_s: since it was seen to have ended.
        leaving_s: since it began to leave, or to fail.
    """

    whole_s: float = 0.0
    wakes: int = 0
    place_s: float = 0.0
    line_s: float = 0.0
    calls_s: float = 0.0
    beat_s: float = 0.0
    barren_s: float = 0.0
    stopped_s: float = 0.0
    ended_s: float = 0.0
    leaving_s: float = 0.0


@dataclass(slots=True)
class Track:
    """One process.

    Attributes:
        looks: fresh reports in a row; a gap begins a new row.
        seen_s: the monitor's time of the last report.
        longest_beat_s: the longest pause between beats that ended by itself.
        first_s: the monitor's time of the first report.
        trickle: bytes per second that are written, over the last few seconds, without crests.
    """

    key: ProcessKey
    beat: Beat
    facts: ProcessFacts
    first_s: float
    seen_s: float
    beats: int = 0
    beat_age_s: float = 0.0
    looks: int = 0
    place: Standpoint = NOWHERE
    still: Still = field(default_factory=Still)
    cpu_share: float | None = None
    main_share: float | None = None
    family_share: float | None = None
    read_rate: float | None = None
    write_rate: float | None = None
    trickle: float = 0.0
    longest_beat_s: float = 0.0
    step_s: float | None = None

    @property
    def rank(self) -> Rank | None:
        """Global rank, or None for a process that is none (yet)."""
        return self.beat.rank

    @property
    def ended(self) -> bool:
        """The process is gone."""
        return not self.facts.alive

    @property
    def stopped(self) -> bool:
        """SIGSTOP, or a debugger that holds it."""
        return self.facts.state in {"T", "t"}

    @property
    def failed(self) -> bool:
        """It ended, or is about to, by a failure."""
        if self.beat.exception is not None or self.beat.state == "raising":
            return True
        if not self.ended:
            return False
        if self.facts.signal is not None or self.facts.exit_code not in {0, None}:
            return True
        return self.facts.exit_code is None and self.beat.state != "exiting"

    @property
    def departs(self) -> bool:
        """It has ended, or is on its way out."""
        return self.ended or self.beat.state != "running" or self.beat.exception is not None

    @property
    def polls(self) -> bool:
        """Nothing of it moves but its main thread, which looks again and again for something."""
        return self.still.wakes >= _LOOKS_AROUND

    @property
    def beats_late(self) -> bool:
        """Its probe has missed at least one beat for sure."""
        return self.still.beat_s > 2.4 * self.beat.interval_s

    def hear(self, report: ProcessReport, passed_s: float, now_s: float) -> None:
        """Take the next report of the process.

        Args:
            report: what the agent says.
            passed_s: host time since the report before; a gap counts as `STEP_S` at most.
            now_s: the monitor's time.
        """
        step_s = min(passed_s, STEP_S)
        before, facts_before = self.beat, self.facts
        beaten = report.beats != self.beats or report.beat.mono_s != before.mono_s
        stood, stand = (
            self.place,
            where(report.beat) if beaten else self.place,
        )
        self.beat, self.facts, self.beats = report.beat, report.facts, report.beats
        self.beat_age_s, self.seen_s, self.place = report.beat_age_s, now_s, stand
        self._measure(facts_before, passed_s)
        ran = _changed(facts_before.main_runs, report.facts.main_runs, 1)
        if not beaten:
            self._stand(step_s, moved=self._busy(), ran=ran)
            self.still.beat_s += step_s
            grown = _changed(facts_before.rss_bytes, report.facts.rss_bytes, _GROWN_BYTES)
            fruitful = grown or self._moves_bytes()
            self.still.barren_s = 0.0 if fruitful else self.still.barren_s + step_s
            return
        self.longest_beat_s = max(self.longest_beat_s, self.still.beat_s)
        self.still.beat_s = self.still.barren_s = max(0.0, report.beat_age_s)
        self._count_steps(before)
        calls = _calls(before) != _calls(report.beat)
        place = stood is not stand and stood != stand
        moved = self._busy() or calls or place or before.steps != self.beat.steps
        self._stand(step_s, moved=moved, ran=ran)
        if place:
            self.still.place_s = 0.0
        if place or calls or before.steps != self.beat.steps:
            self.still.line_s = 0.0
        if calls:
            # The calls changed between the two beats; the probe knows when.
            self.still.calls_s = min(_since(self.beat), step_s)

    def forget(self) -> None:
        """The reports had a gap: what stood still may have moved unseen."""
        beat_s = self.still.beat_s if self.stopped else 0.0
        self.still = Still(beat_s=beat_s, barren_s=beat_s)
        self.looks = 0

    def _stand(self, step_s: float, *, moved: bool, ran: bool) -> None:
        still = self.still
        still.whole_s = 0.0 if moved else still.whole_s + step_s
        still.wakes = 0 if moved else still.wakes + ran
        still.place_s += step_s
        still.line_s = 0.0 if self._moves_bytes() else still.line_s + step_s
        still.calls_s += step_s
        still.stopped_s = still.stopped_s + step_s if self.stopped else 0.0
        still.ended_s = still.ended_s + step_s if self.ended else 0.0
        still.leaving_s = still.leaving_s + step_s if self.departs else 0.0

    def _measure(self, before: ProcessFacts, passed_s: float) -> None:
        """Rates from the kernel's counters, which go on where a beat does not."""
        facts = self.facts
        self.cpu_share = _rate(before.cpu_s, facts.cpu_s, passed_s)
        self.main_share = _rate(before.main_cpu_s, facts.main_cpu_s, passed_s)
        self.family_share = _rate(before.family_cpu_s, facts.family_cpu_s, passed_s)
        self.read_rate = _rate(before.read_bytes, facts.read_bytes, passed_s)
        self.write_rate = _rate(before.write_bytes, facts.write_bytes, passed_s)
        burst = min(self.write_rate or 0.0, _CREST_PER_S)
        kept = math.exp(-passed_s / _SMOOTHED_S)
        self.trickle = kept * self.trickle + (1 - kept) * burst

    def _busy(self) -> bool:
        shares = (self.cpu_share or 0.0, self.family_share or 0.0)
        if max(shares) >= _CPU_SHARE or self._moves_bytes():
            return True
        return (self.main_share or 0.0) >= _MAIN_SHARE and not self.place.may_wait

    def _moves_bytes(self) -> bool:
        if (self.read_rate or 0.0) >= _READ_PER_S or (self.write_rate or 0.0) >= _WRITTEN_PER_S:
            return True
        return self.place.phase in _MOVE_DATA and self.trickle >= _TRICKLE_PER_S

    def _count_steps(self, before: Beat) -> None:
        done, wall = self.beat.steps, self.beat.step_wall_s
        if done is None or before.steps is None or done <= before.steps:
            return
        if wall is not None and before.step_wall_s is not None:
            self.step_s = (wall - before.step_wall_s) / (done - before.steps)


def begin(report: ProcessReport, now_s: float) -> Track:
    """The first report of a process."""
    beat = report.beat
    return Track(
        key=(beat.host, beat.pid, beat.process_started_s),
        beat=beat,
        facts=report.facts,
        first_s=now_s,
        seen_s=now_s,
        beats=report.beats,
        beat_age_s=report.beat_age_s,
        looks=1,
        place=where(beat),
    )


def _calls(beat: Beat) -> list[tuple[str, int | None, int | None, int | None]]:
    return [(g.name, g.enqueued, g.started, g.completed) for g in beat.groups.values()]


def _since(beat: Beat) -> float:
    """Seconds since a call was issued or ended last, as the process says; 0 if it does not."""
    moments = [g.since_s for g in beat.groups.values() if g.since_s is not None]
    return max(0.0, beat.mono_s - max(moments)) if moments else 0.0


def _changed(before: int | None, after: int | None, least: int) -> bool:
    return before is not None and after is not None and abs(after - before) >= least


def _rate(before: float | None, after: float | None, passed_s: float) -> float | None:
    if before is None or after is None or passed_s <= 0:
        return None
    return max(0.0, (after - before) / passed_s)
