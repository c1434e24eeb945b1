"""What is remembered of one process from report to report: what moves, and for how long not.

Durations are sums of *observed* time: a gap in the reports (a suspended agent, a laptop that
slept, a network that was cut) adds little, so that what nobody saw never counts against anybody.
Time in which a process was ready to run and had no core counts for little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.live.judge.beat_progress import calls_moved, quiet_s
from unhang.live.judge.beat_stacks import NOWHERE, BeatStack, where
from unhang.live.judge.kernel_rates import rate_of, rates_of, ready_share
from unhang.live.messages.reports import Beat, ProcessFacts, ProcessReport
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing

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
_SIGNS: Mapping[str, float] = {
    "cpu": 0.02,
    "threads": 0.01,
    "children": 0.02,
    "bytes": 8 * 1_024,
    "children_bytes": 4 * 1_024,
    "memory": 256 * 1_024,
    "faults": 64,
}
"""Signs of life, and how much of each a second shows in a rank that does nothing: shares of a core,
bytes, pages. Measured on idle ranks of gloo with a probe: 0.01, 0.002, 0, 210, 0, 0, 0."""
_NO_CORE = 0.5
"""Of the time: who was ready to run for so long, and did not, stood still for want of a core."""
_WAITED_COUNTS = 0.25
"""What such time counts: the third of a second that native code keeps the interpreter lock lasts
four where twelve others want the core; a native loop without an end looks the same."""
_OFTEN = 2
"""Wakes of the main thread, or of a helper that was begun since the last progress, which a loop
that looks around for ever shows as well."""
_ROW = 2
"""Reports in a row with a sign: a burst now and then is somebody's log."""
_RECENT_S = 10.0
_SMOOTHED_S = 2.5
"""A trickle is judged by its mean over some seconds, in which a burst counts for no more than its
crest: neither a burst every few seconds nor its echo is work."""


@dataclass(slots=True)
class Still:
    """Observed seconds for which something has not changed; all begin at 0 with a change.

    Attributes:
        whole_s: nothing of the process moves, nor of its helpers: CPU, bytes, steps, calls, stack.
        lifeless_s: not even the little moves that a hang does not show: see `signs` of a track.
        stirs: in how many reports since then something had moved for a moment.
        place_s: its main thread stands at the same place of the program.
        function_s: no function of the program has run that did not before, without a step, a call
            or bytes meanwhile.
        calls_s: its open calls are the same.
        beat_s: its probe has not beaten, though it was at work for no dump.
        stopped_s: it has been stopped by a signal or a debugger.
        ended_s: since it was seen to have ended.
        leaving_s: since it began to leave, or to fail.
    """

    whole_s: float = 0.0
    lifeless_s: float = 0.0
    stirs: int = 0
    place_s: float = 0.0
    function_s: float = 0.0
    calls_s: float = 0.0
    beat_s: float = 0.0
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
        signs: of life, each with the observed seconds since it was seen last.
        progress_s: when it last did a step or issued a call, by its host's monotonic clock.
        first_s: the monitor's time of the first report.
        trickle: bytes per second that are written, over the last few seconds, without crests.
        under: process of the rank that started it, also after its end; None = none did.
        came_s: from its begin until it told its rank; None = unknown.
        glance: what others have derived of it since its last report; None = nothing yet.
    """

    key: ProcessKey
    beat: Beat
    facts: ProcessFacts
    first_s: float
    seen_s: float
    beats: int = 0
    beat_age_s: float = 0.0
    looks: int = 0
    place: BeatStack = NOWHERE
    still: Still = field(default_factory=Still)
    cpu_share: float | None = None
    main_share: float | None = None
    family_share: float | None = None
    read_rate: float | None = None
    write_rate: float | None = None
    trickle: float = 0.0
    longest_beat_s: float = 0.0
    step_s: float | None = None
    signs: dict[str, float] = field(default_factory=dict)
    progress_s: float | None = None
    under: int | None = None
    came_s: float | None = None
    glance: object = None
    _functions: set[str] = field(default_factory=set)
    _row: int = 0

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
        return self.vanished

    @property
    def vanished(self) -> bool:
        """It is gone, and nothing shows how."""
        told = self.facts.signal, self.facts.exit_code, self.beat.exception
        return self.ended and self.beat.state == "running" and told == (None, None, None)

    @property
    def departs(self) -> bool:
        """It has ended, or is on its way out."""
        return self.ended or self.beat.state != "running" or self.beat.exception is not None

    @property
    def alone(self) -> bool:
        """Its main thread waits for its own process, in which nobody is left to let it go on."""
        idle = not (self.place.outside or self.place.helped) and self.facts.helpers == 0
        return self.place.doing is Doing.LOCKED and self.place.phase is None and idle

    @property
    def delegates(self) -> bool:
        """It does nothing itself, and waits for its child processes, which are at work."""
        idle = self.place.doing is Doing.LOCKED and (self.cpu_share or 0.0) < _CPU_SHARE
        return idle and self.signs.get("children", math.inf) <= STEP_S

    @property
    def starves(self) -> bool:
        """It was ready to run a moment ago, and had no core."""
        return self.signs.get("no_core", math.inf) <= STEP_S

    @property
    def stirs(self) -> bool:
        """It shows no work, but something of it wakes up now and then."""
        return self.still.stirs >= _OFTEN

    def lives(self, for_s: float | None) -> tuple[str, ...]:
        """Signs of life that were seen since it stands where it stands, the newest first.

        Args:
            for_s: how long it has stood; None = it does not stand.
        """
        most_s = _RECENT_S if for_s is None else min(_RECENT_S, for_s - STEP_S)
        recent = [(age_s, sign) for sign, age_s in self.signs.items() if age_s <= most_s]
        return tuple(sign for _, sign in sorted(recent))

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
        self.glance = None
        step_s = min(passed_s, STEP_S)
        before, facts_before = self.beat, self.facts
        ready = ready_share(facts_before, report.facts, passed_s)
        free_s = step_s * (1 - ready * (1 - _WAITED_COUNTS))
        beaten = report.beats != self.beats or report.beat.mono_s != before.mono_s
        stood, stand = (
            self.place,
            where(report.beat) if beaten else self.place,
        )
        self.beat, self.facts, self.beats = report.beat, report.facts, report.beats
        if before.rank is None:
            self.came_s = _came_s(report.beat)
        self.under = self.under if report.facts.under is None else report.facts.under
        self.beat_age_s, self.seen_s, self.place = report.beat_age_s, now_s, stand
        self._measure(facts_before, passed_s)
        self._look_for_life(facts_before, passed_s, free_s, ready)
        if not beaten:
            self._stand(step_s, free_s, moved=self._busy())
            self.still.beat_s += 0.0 if self.facts.dumps else free_s
            return
        self.longest_beat_s = max(self.longest_beat_s, self.still.beat_s)
        self.still.beat_s = max(0.0, report.beat_age_s)
        self._count_steps(before)
        issued, ended = calls_moved(before, self.beat)
        calls = issued or (ended and self._waited(stood))
        place = stood is not stand and stood != stand
        stepped = before.steps != self.beat.steps
        self._stand(step_s, free_s, moved=self._busy() or calls or place or stepped)
        if place or calls or stepped:
            self._show_life()
        if place:
            self.still.place_s = 0.0
        if calls or stepped:
            self._functions.clear()
        if (function := function_of(stand.place)) not in self._functions:
            self._functions.add(function)
            self.still.function_s = 0.0
        if calls or stepped:
            self.progress_s = self.beat.mono_s
            # Who goes on after an exception was not ended by it.
            self.still.leaving_s = 0.0
        if calls or ended:
            # The calls changed between the two beats; the probe knows when.
            self.still.calls_s = min(quiet_s(self.beat), step_s)

    def forget(self) -> None:
        """The reports had a gap: what stood still may have moved unseen."""
        beat_s = self.still.beat_s if self.stopped else 0.0
        self.still, self.glance = Still(beat_s=beat_s), None
        self.looks = 0

    def _waited(self, stood: BeatStack) -> bool:
        """Whether a call that has ended is one that it waited in.

        Of a rank that does something else a call that seems to end is only noted late: gloo notes
        what ended last, and not the highest number.
        """
        return stood.waits or self.beat.device == "cuda" or self.still.whole_s > 0

    def _stand(self, step_s: float, free_s: float, *, moved: bool) -> None:
        still = self.still
        still.whole_s = 0.0 if moved else still.whole_s + free_s
        still.place_s += step_s
        still.function_s = 0.0 if self._moves_bytes() else still.function_s + step_s
        still.calls_s += step_s
        still.stopped_s = still.stopped_s + step_s if self.stopped else 0.0
        still.ended_s = still.ended_s + step_s if self.ended else 0.0
        still.leaving_s = still.leaving_s + step_s if self.departs else 0.0

    def _measure(self, before: ProcessFacts, passed_s: float) -> None:
        """Rates from the kernel's counters, which go on where a beat does not."""
        facts = self.facts
        self.cpu_share = rate_of(before.cpu_s, facts.cpu_s, passed_s)
        self.main_share = rate_of(before.main_cpu_s, facts.main_cpu_s, passed_s)
        self.family_share = rate_of(before.family_cpu_s, facts.family_cpu_s, passed_s)
        self.read_rate = rate_of(before.read_bytes, facts.read_bytes, passed_s)
        self.write_rate = rate_of(before.write_bytes, facts.write_bytes, passed_s)
        burst = min(self.write_rate or 0.0, _CREST_PER_S)
        kept = math.exp(-passed_s / _SMOOTHED_S)
        self.trickle = kept * self.trickle + (1 - kept) * burst

    def _look_for_life(
        self, before: ProcessFacts, passed_s: float, free_s: float, ready: float
    ) -> None:
        """Whatever moves by more than it does in a hang; twice in a row it is life."""
        self.still.lifeless_s += free_s
        for sign in self.signs:
            self.signs[sign] += free_s
        if self.facts.cpu_s is None and self.beat.cpu_s is None:
            self._show_life()  # nobody has seen that it does nothing
            return
        rates = rates_of(before, self.facts, passed_s)
        rates["cpu"] = self.cpu_share
        shown = [sign for sign, least in _SIGNS.items() if (rates.get(sign) or 0.0) >= least]
        shown += ["no_core"] if ready >= _NO_CORE else []
        wakes = []
        ran, runs = before.main_runs, self.facts.main_runs
        if ran is not None and runs is not None and ran != runs:
            wakes.append("switches")
        if self._helpers_wake(before):
            wakes.append("helpers")
        for sign in (*shown, *wakes):
            self.signs[sign] = 0.0
        self._row = self._row + 1 if shown else 0
        self.still.stirs += bool(shown or wakes)
        if self._row >= _ROW:
            self._show_life()

    def _helpers_wake(self, before: ProcessFacts) -> bool:
        """Whether a helper that was begun since the last step or call was given a core."""
        if not self.facts.young:
            return False
        ran = dict(before.young)
        return any(
            runs > ran.get(began_s, runs) and began_s > (self.progress_s or 0.0)
            for began_s, runs in self.facts.young
        )

    def _show_life(self) -> None:
        self.still.lifeless_s, self.still.stirs = 0.0, 0

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
        under=report.facts.under,
        came_s=_came_s(beat),
    )


def _came_s(beat: Beat) -> float | None:
    began_s = beat.process_started_s
    return None if beat.rank is None or began_s is None else max(0.0, beat.wall_s - began_s)


def function_of(place: str) -> str:
    """A place of the program without its line: `function (file`."""
    return place.rpartition(":")[0]
