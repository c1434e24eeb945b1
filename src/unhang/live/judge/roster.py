"""From reports of nodes to one process for each rank of the present start of the job.

A report counts as fresh only if it arrived in order, soon after the one before it and soon after
it was made; otherwise its host begins anew to collect looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile

from unhang.live.judge.track import ProcessKey, Track, begin
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport, ProcessReport
from unhang.model.ids import Rank

_GAP_S = 3.5
"""A longer pause between two reports is a gap."""
_LATE_S = 3.0
"""A report that took so much longer than the quickest one is old news."""
_RIVAL = 3
"""Looks at a second process of a rank; one that is about to end has fewer."""
_CONTESTED_S = 10.0
_SILENT_S = 4.0
"""A host that was not heard for so long is unseen."""


@dataclass(slots=True)
class Host:
    """One node.

    Attributes:
        mono_s: its own clock, at its last report.
        heard_s: the monitor's clock, when that arrived.
        quickest_s: smallest difference of the two clocks seen: what a report takes at least.
        looks: fresh reports in a row.
        passed_s: its own time between the last two reports.
    """

    name: str
    mono_s: float
    wall_s: float
    heard_s: float
    quickest_s: float
    looks: int = 0
    passed_s: float = 0.0
    launcher_alive: bool = True
    lost: tuple[Loss, ...] = ()
    keys: set[ProcessKey] = field(default_factory=set)

    def silent(self, now_s: float) -> bool:
        """Nothing was heard for a while."""
        return now_s - self.heard_s > _SILENT_S

    def hear(self, report: NodeReport, now_s: float) -> bool:
        """Take the clocks of a report; False for one that is older than what we know."""
        passed_s, waited_s = report.mono_s - self.mono_s, now_s - self.heard_s
        if passed_s <= 0 and waited_s < 60:
            return False
        took_s = now_s - report.mono_s
        self.quickest_s = min(took_s, self.quickest_s + 0.001 * max(0.0, waited_s))
        if passed_s <= 0:  # the host was started anew
            self.quickest_s, passed_s = took_s, 0.0
        gap = not 0 < passed_s <= _GAP_S or waited_s > _GAP_S
        late = took_s - self.quickest_s > _LATE_S
        self.looks = 0 if gap or late else self.looks + 1
        self.mono_s, self.wall_s, self.heard_s = report.mono_s, report.wall_s, now_s
        self.passed_s, self.launcher_alive, self.lost = passed_s, report.launcher_alive, report.lost
        return True


@dataclass(slots=True)
class Roster:
    """All processes that the reports tell of.

    Attributes:
        by_rank: the process of each rank in the present start of the job.
        restart: number of the present start, or None where nothing tells.
        world_size: ranks of the job, or None.
        begun: how often a rank was seen to start anew.
        retired: ended processes of earlier starts that their hosts still tell of.
    """

    hosts: dict[str, Host] = field(default_factory=dict)
    tracks: dict[ProcessKey, Track] = field(default_factory=dict)
    by_rank: dict[Rank, Track] = field(default_factory=dict)
    restart: int | None = None
    world_size: int | None = None
    begun: int = 0
    retired: set[ProcessKey] = field(default_factory=set)
    _by_pid: dict[tuple[str, int], Track] = field(default_factory=dict)
    _by_hearing: dict[str, Host] = field(default_factory=dict)
    _contested_s: float = float("-inf")

    def hear(self, report: NodeReport, now_s: float) -> bool:
        """Take a report; False where it is old and was left aside."""
        host = self.hosts.get(report.host)
        if host is None:
            host = self.hosts[report.host] = _meet(report, now_s)
        elif not host.hear(report, now_s):
            return False
        self._by_hearing.pop(report.host, None)
        self._by_hearing[report.host] = host
        told = {self._follow(host, process, now_s) for process in report.processes}
        self._miss(host, host.keys - told, now_s)
        host.keys |= told
        return True

    def unseen(self, track: Track, now_s: float) -> bool:
        """Its host was not heard for a while, so nothing is known of it now."""
        return now_s - track.seen_s > _SILENT_S

    def silent(self, now_s: float) -> set[str]:
        """Hosts that were not heard for a while; asked with every report, so only they are seen."""
        heard = takewhile(lambda host: host.silent(now_s), self._by_hearing.values())
        return {host.name for host in heard}

    def contested(self, now_s: float) -> bool:
        """Numbers of ranks are used twice, so that nobody can tell who belongs to whom."""
        return now_s - self._contested_s < _CONTESTED_S

    @property
    def launcher_alive(self) -> bool:
        """The job is under way on some host."""
        return any(host.launcher_alive for host in self.hosts.values())

    @property
    def all_left(self) -> bool:
        """All ranks of the job are known, and have ended without a sign of a failure."""
        tracks = self.by_rank.values()
        return len(tracks) == self.world_size and all(
            t.ended and (t.vanished or not t.failed) for t in tracks
        )

    def seated_on(self, host: str) -> dict[Rank, Track]:
        """The ranks that live on a host."""
        told = (self.tracks.get(key) for key in self.hosts[host].keys)
        return {
            track.rank: track
            for track in told
            if track is not None
            and track.rank is not None
            and self.by_rank.get(track.rank) is track
        }

    def _follow(self, host: Host, process: ProcessReport, now_s: float) -> ProcessKey:
        beat = process.beat
        key = (host.name, beat.pid, beat.process_started_s)
        if key in self.retired:
            return key
        track = self.tracks.get(key)
        if track is None:
            if not process.facts.alive and beat.rank in self.by_rank:
                self.retired.add(key)  # of an earlier start: it had ended when we heard of it
                return key
            track = self.tracks[key] = begin(process, now_s)
            self._by_pid[host.name, beat.pid] = track
        else:
            if host.looks == 0:
                track.forget()
            track.hear(process, host.passed_s, now_s)
            track.looks += host.looks > 0
        if track.rank is not None and self.by_rank.get(track.rank) is track:
            self._follow_job(track)
        else:
            self._seat(track)
            self._note_rival(track, now_s)
        return key

    def _miss(self, host: Host, keys: Iterable[ProcessKey], now_s: float) -> None:
        """A process that a report no longer tells of is gone."""
        for key in keys:
            self.retired.discard(key)
            track = self.tracks.get(key)
            if track is None:
                host.keys.discard(key)
                continue
            gone = ProcessReport(
                beat=track.beat,
                facts=track.facts if track.ended else replace(track.facts, alive=False, state=None),
                beats=track.beats,
                beat_age_s=track.beat_age_s + host.passed_s,
            )
            track.hear(gone, host.passed_s, now_s)
            track.looks += host.looks > 0

    def _seat(self, track: Track) -> None:
        """Let a process be the one of its rank, unless another has the better claim."""
        rank = track.rank
        if rank is None:
            return
        holder = self.by_rank.get(rank)
        if self._is_helper(track) or self.is_nested(track) or self._is_earlier(track, holder):
            return
        if holder is not None and not _is_child(track, holder) and not self._is_helper(holder):
            self._begin_anew(track)
        self.by_rank[rank] = track
        self._follow_job(track)

    def _follow_job(self, track: Track) -> None:
        """What a seated process says of the job; it knows the size for sure once it has groups."""
        if track.beat.world_size is not None:
            self.world_size = track.beat.world_size
        if track.beat.restart is not None:
            self.restart = track.beat.restart

    def _note_rival(self, track: Track, now_s: float) -> None:
        """Two living processes say they are one rank: of two jobs, or of two sets of actors."""
        holder = None if track.rank is None else self.by_rank.get(track.rank)
        if holder is None or holder is track or holder.ended or track.ended or track.looks < _RIVAL:
            return
        nested = self.is_nested(track) or self.is_nested(holder)
        if not _is_child(holder, track) and not self._is_helper(track) and not nested:
            self._contested_s = now_s

    def is_nested(self, track: Track) -> bool:
        """A process of another job, which a rank of this one has started for itself.

        A launcher that carries a number, as of its node, is no rank: it makes no process groups.
        """
        above = self._by_pid.get((track.beat.host, track.under or -1))
        return above is not None and bool(above.beat.groups) and above.rank is not None

    def nested_in(self, track: Track) -> dict[Rank, Track]:
        """The ranks of a job that a rank has started for itself and that lives."""
        return {
            other.rank: other
            for other in self.tracks.values()
            if other.under == track.beat.pid
            and other.beat.host == track.beat.host
            and other.rank is not None
            and not other.ended
            and self.is_nested(other)
        }

    def _is_earlier(self, track: Track, holder: Track | None) -> bool:
        """Whether a process belongs to an earlier start of the job than the present one."""
        restart = track.beat.restart
        if restart is not None and self.restart is not None and restart != self.restart:
            return restart < self.restart
        if holder is None:
            return False
        if track.ended != holder.ended:
            return track.ended
        return (track.beat.process_started_s or 0.0) <= (holder.beat.process_started_s or 0.0)

    def _is_helper(self, track: Track) -> bool:
        """A process that a rank began (a loader, a compiler) inherits its number.

        A launcher may carry a number too, that of its node; its children have a local rank, and
        make process groups.
        """
        parent = self._by_pid.get((track.beat.host, track.beat.ppid or 0))
        if parent is None or not _is_child(track, parent) or parent.rank != track.rank:
            return False
        mine, its = track.beat, parent.beat
        launched = its.local_rank is None and mine.local_rank is not None
        return not launched and not (mine.groups and not its.groups)

    def _begin_anew(self, track: Track) -> None:
        """Another process has a rank: the launcher started it, or the whole job, again."""
        self.begun += 1
        restart = track.beat.restart
        for rank, other in list(self.by_rank.items()):
            if other.ended or (restart is not None and other.beat.restart != restart):
                del self.by_rank[rank]
        for key, other in list(self.tracks.items()):
            if other.ended:
                del self.tracks[key]
                self.retired.add(key)


def _is_child(track: Track, parent: Track) -> bool:
    return track.beat.ppid == parent.beat.pid and track.beat.host == parent.beat.host


def _meet(report: NodeReport, now_s: float) -> Host:
    return Host(
        name=report.host,
        mono_s=report.mono_s,
        wall_s=report.wall_s,
        heard_s=now_s,
        quickest_s=now_s - report.mono_s,
        looks=1,
        launcher_alive=report.launcher_alive,
        lost=report.lost,
    )
