"""Reads boards and `/proc` of one host into reports."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from unhang.live.agent import kernel
from unhang.live.agent.descendants import Descendants, Helped
from unhang.live.agent.own_overhead import OwnOverhead
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import Beat, NodeReport, ProcessFacts, ProcessReport
from unhang.live.messages.wire import beat_from_json
from unhang.live.run_folder.clock import RunClock
from unhang.probe import board
from unhang.probe.freeze import PATIENCE_BEATS, SIGNAL

_SLACK_S = 0.1
"""A board is written a little after its process began, never before."""

_SILENT_S = 5.0
"""A process that we never saw, and that beats no more for so long, is gone."""

_LATE_S = 2.0
"""At most so much older than we saw it ourselves can a beat be."""


@dataclass(slots=True)
class _Known:
    """What we remember of a process between two readings.

    Attributes:
        started_ticks: of the process whose board it is; None until it was seen in `/proc`.
        changed_s: when its beats were seen to count on, by our clock.
        asked_at: beats after which it was asked for the stack of its freeze.
        last: what was last known of it once it has ended; it does not change any more.
        overhead: what of it we cause ourselves is left out of what we report.
    """

    pid: int
    host: str
    beats: int = -1
    changed_s: float = 0.0
    started_ticks: int | None = None
    beat: Beat | None = None
    asked_at: int = -1
    last: ProcessFacts | None = None
    overhead: OwnOverhead = field(default_factory=OwnOverhead)


class BoardReader:
    """The tap on all training processes of a host.

    Args:
        boards: folder of the boards.
        host: label of this host; a board of another one is judged by its beats alone.
        clock: monotonic seconds.
        run_clock: dates reports; None = the host's own clock.

    Attributes:
        disturbed: we make the processes work ourselves, for dumps or a capture.
        dumping: processes that do nothing but that at present.
    """

    def __init__(
        self,
        boards: Path,
        host: str,
        clock: Callable[[], float] = time.monotonic,
        run_clock: RunClock | None = None,
    ) -> None:
        self._boards = boards
        self._host = host
        self._clock = clock
        self._run_clock = RunClock.begin() if run_clock is None else run_clock
        self.disturbed = False
        self.dumping: frozenset[int] = frozenset()
        self._known: dict[str, _Known] = {}
        self._descendants = Descendants()
        self._helped: dict[int, Helped] = {}
        self._handles: dict[int, str] = {}
        self._unreadable: dict[str, Loss] = {}

    @property
    def handles(self) -> tuple[int, ...]:
        """Descriptors that become readable when a process ends."""
        return tuple(self._handles)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Numbers of the processes of this host that live and are ranks."""
        return tuple(
            known.pid
            for known in self._here()
            if known.last is None and known.beat is not None and known.beat.rank is not None
        )

    @property
    def beats(self) -> tuple[Beat, ...]:
        """The last one of each process that was ever seen."""
        return tuple(known.beat for known in self._known.values() if known.beat is not None)

    @property
    def began_s(self) -> float:
        """When the present start of the job began, epoch; 0 = there was none before it."""
        ranks = [k for k in self._here() if k.beat is not None and k.beat.rank is not None]
        ticks = [k.started_ticks for k in ranks if k.last is None and k.started_ticks is not None]
        began_s = self._run_clock.boot_s + kernel.seconds(min(ticks)) if ticks else 0.0
        return began_s if any(k.last is not None for k in ranks) else 0.0

    def read(self, *, launcher_alive: bool, lost: tuple[Loss, ...] = ()) -> NodeReport:
        """Read everything once."""
        now = self._clock()
        reports = tuple(self._reports(now))
        return NodeReport(
            host=self._host,
            wall_s=self._run_clock.now_s(),
            mono_s=now,
            processes=reports,
            launcher_alive=launcher_alive,
            lost=(*lost, *self._unreadable.values()),
        )

    def look_at_ended(self, handle: int) -> None:
        """Take the exit status of a process before its parent does, if we can."""
        known = self._known[self._handles[handle]]
        self._forget(handle)
        if known.last is not None:
            return
        stat = kernel.read_stat(known.pid)
        if stat is not None and stat.started_ticks == known.started_ticks:
            facts = kernel.facts_of(known.pid, stat)
            known.last = None if facts.alive else facts
        else:
            known.last = ProcessFacts(alive=False)

    def learn_exit(self, pid: int, status: int) -> None:
        """A parent told us how a process ended."""
        code, number = kernel.split_status(status)
        for known in self._here():
            if known.pid == pid:
                known.last = ProcessFacts(alive=False, exit_code=code, signal=number)

    def close(self) -> None:
        """Let go of all processes."""
        for handle in self.handles:
            self._forget(handle)

    def _probes(self) -> dict[int, int | None]:
        """The thread of its probe for each rank."""
        threads = {k.pid: k.beat.probe_thread for k in self._here() if k.beat is not None}
        return {pid: threads.get(pid) for pid in self.ranks}

    def _here(self) -> Iterator[_Known]:
        return (known for known in self._known.values() if known.host == self._host)

    def _reports(self, now: float) -> Iterator[ProcessReport]:
        try:
            names = sorted(e.name for e in os.scandir(self._boards) if e.name.endswith(".board"))
        except OSError as error:
            self._unreadable[""] = Loss.of("boards_unlisted", why=str(error.strerror))
            return
        self._unreadable.pop("", None)
        boards = {name: self._pinned(name) for name in names}
        for name, pinned in boards.items():
            known = self._known.get(name)
            if pinned is not None and (known is None or pinned.beats != known.beats):
                self._heard(name, pinned, now)
        # Only now: from its first report on it must be known by whom a process was started.
        self._helped = self._descendants.look(self._probes())
        for name, pinned in boards.items():
            report = self._report(name, pinned, now)
            if report is not None:
                yield report

    def _report(self, name: str, pinned: board.Pinned | None, now: float) -> ProcessReport | None:
        known = self._known.get(name)
        if known is None or known.beat is None:
            return None
        facts = known.last or self._facts(name, known, now)
        if not facts.alive and pinned is not None and pinned.last_call[1]:
            number, call = pinned.last_call
            facts = replace(facts, last_call=call, last_number=number)
        seen_s = now - known.changed_s
        age_s = seen_s if pinned is None else now - pinned.monotonic_s
        return ProcessReport(
            beat=known.beat,
            facts=facts,
            beats=known.beats,
            # The clock of a container may count from elsewhere; ours bounds it.
            beat_age_s=min(max(age_s, seen_s), seen_s + _LATE_S),
        )

    def _pinned(self, name: str) -> board.Pinned | None:
        try:
            pinned = board.read(str(self._boards / name))
        except OSError as error:
            self._unreadable[name] = Loss.of("board_unreadable", name=name, why=str(error.strerror))
            return None
        self._unreadable.pop(name, None)
        return pinned

    def _heard(self, name: str, pinned: board.Pinned, now: float) -> None:
        beat = beat_from_json(pinned.beat)
        if beat is None:
            self._unreadable[name] = Loss.of("board_of_nobody", name=name)
            return
        known = self._known.get(name)
        if known is None or pinned.beats < known.beats:  # a new process of an old number
            known = _Known(beat.pid, beat.host)
            self._known[name] = known
        known.beat, known.beats, known.changed_s = beat, pinned.beats, now

    def _facts(self, name: str, known: _Known, now: float) -> ProcessFacts:
        if known.host != self._host:
            return ProcessFacts(alive=True)
        stat = kernel.read_stat(known.pid)
        if known.started_ticks is None and stat is not None and self._is_its(known, stat):
            known.started_ticks = stat.started_ticks
            self._watch(name, known.pid)
        if known.started_ticks is None:
            gone = now - known.changed_s > _SILENT_S
            known.last = ProcessFacts(alive=False) if gone else None
            return known.last or ProcessFacts(alive=True)
        if stat is None or stat.started_ticks != known.started_ticks:
            known.last = ProcessFacts(alive=False)
            return known.last
        facts = kernel.facts_of(known.pid, stat)
        known.last = None if facts.alive else facts
        dumps = known.pid in self.dumping
        if not dumps and known.asked_at != known.beats and _is_frozen(known, facts, now):
            known.asked_at = known.beats
            kernel.send_if_caught(known.pid, SIGNAL)
        facts = _with_helpers(facts, self._helped.get(known.pid))
        facts = replace(facts, dumps=dumps)
        return known.overhead.correct(facts, disturbed=self.disturbed or dumps)

    def _is_its(self, known: _Known, stat: kernel.Stat) -> bool:
        """Whether the process of that number is the one that wrote the board."""
        assert known.beat is not None
        return kernel.started_s(stat) <= known.beat.mono_s + _SLACK_S

    def _watch(self, name: str, pid: int) -> None:
        try:
            self._handles[os.pidfd_open(pid)] = name
        except OSError:  # it has just gone, or the kernel is older than 5.3
            return

    def _forget(self, handle: int) -> None:
        del self._handles[handle]
        os.close(handle)


def _is_frozen(known: _Known, facts: ProcessFacts, now: float) -> bool:
    """Whether its probe does not beat, and a signal harms nothing that its main thread does.

    A wait for a lock goes on after a signal; a sleep or a poll would end.
    """
    beat = known.beat
    if beat is None or beat.state != "running":
        return False
    late = now - known.changed_s > PATIENCE_BEATS * beat.interval_s
    return late and (facts.state == "R" or (facts.wchan or "").startswith("futex"))


def _with_helpers(facts: ProcessFacts, helped: Helped | None) -> ProcessFacts:
    if helped is None:
        return facts
    own, theirs = facts.stored_bytes, helped.stored_bytes
    return replace(
        facts,
        threads_cpu_s=helped.threads_s,
        helpers_delayed_s=helped.delayed_s,
        family_cpu_s=helped.used_s,
        family_bytes=helped.moved_bytes,
        helpers=helped.processes,
        under=helped.under,
        young=helped.young,
        stored_bytes=own if own is None or theirs is None else own + theirs,
    )
