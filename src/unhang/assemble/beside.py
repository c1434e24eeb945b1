"""From the files that were given to those that are of one job, and those that lie beside them.

People give unhang a folder. In it lie notes, manuals, chats, the log of another job, the summary of
last year. Evidence belongs to a job because something ties it there: a host, a process, a rank, an
identifier, a time, its place in a series of files. What nothing ties to the job, or what people
wrote, is told of and judges nothing: not the cause, not the size of the job, not that it went well.

The job is what the files with most of its life tell: waiting, failing, work, ranks. One file alone
is the job. A file that says neither host nor day, which nothing can ever tie, is loose: it decides
only what the others leave open. Where a file of the job has no date, the day it was saved stands
for it, so that what is of another year is seen to be so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from unhang.engine.nature import DATED, Nature
from unhang.model.events import (
    BandwidthMeasured,
    BarrierMissing,
    CollectivesMeasured,
    CollectiveTimeout,
    CommunicatorStage,
    DesyncReported,
    DeviceFault,
    DumpRead,
    DumpUnusable,
    Event,
    FingerprintMismatch,
    Finished,
    GlooFault,
    GpuProcess,
    GpuState,
    GroupStatus,
    HoldUp,
    HostReport,
    KernelEvent,
    LinesDropped,
    ModelMismatch,
    NcclFailure,
    ProcessEnded,
    Progress,
    PythonException,
    RasReport,
    StackRefused,
    StackSeen,
    StoreFault,
    ThreadStack,
    TopologySeen,
    VersionSeen,
    WatchdogAborted,
)
from unhang.model.events.meaning import Witness
from unhang.model.time import Clock, Instant
from unhang.sources.artifact import Artifact

_LOOKS = (
    BandwidthMeasured,
    CollectivesMeasured,
    DumpRead,
    DumpUnusable,
    GpuProcess,
    GpuState,
    HoldUp,
    HostReport,
    LinesDropped,
    RasReport,
    StackRefused,
    StackSeen,
    ThreadStack,
    TopologySeen,
    VersionSeen,
)
"""What tools tell that somebody asked about this job or host: it says of itself what it is of."""

_ANSWERS = tuple(kind for kind in _LOOKS if kind not in (LinesDropped, StackSeen, VersionSeen))
"""What only a tool writes: a file that holds it is no document, in whatever form it is."""

_WAITS = (
    *(CollectiveTimeout, GroupStatus, WatchdogAborted, DesyncReported, BarrierMissing),
    *(DumpRead, ThreadStack, RasReport, FingerprintMismatch),
)
_TALKS = (StoreFault, GlooFault, NcclFailure, CommunicatorStage, ModelMismatch)
_FAILS = (PythonException, DeviceFault)
_RECORDING = frozenset({Witness.STACK, Witness.RECORDER, Witness.JUDGE})
_NEAR_S = 18 * 3600.0
"""Logs of one job may be of different zones, and of a long night."""
_FAR_S = 3 * 86_400.0
_LONGEST_S = 90 * 86_400.0
"""No job takes longer; without a year, the shortest difference has a sign that means nothing."""
_STALE_S = 30 * 86_400.0
"""A log that was saved so long after its last line is kept, not fresh."""
_LEAST_WORK = 3
_LOOKED_AT = 3
"""Members of a series of files that are looked at."""
_SHORTEST_NAME = 3
_OWN_FOLDERS = re.compile(r"(?:^|[/!])(?:host=|output/|captures/|boards/)|\.unhang\.tar")
"""Bundles and run folders of unhang hold nothing but their job."""

_TURNED = re.compile(r"(?:\.\d{1,3}|[.-]\d{8}|\.old|\.prev(?:ious)?)(?:\.(?:gz|xz|bz2|zst))?$")
_DIGITS = re.compile(r"\d+")
_HOST_END = re.compile(r"-[a-z]+-\d+$")
_STREAMS = frozenset(("out", "err", "stdout", "stderr", "error", "errors", "output", "log", "txt"))
_LONG_NUMBER = 4
_TAIL = 3
"""Parts of a path that tell what a file is; those before them tell of which host or start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A file that judges nothing.

    Attributes:
        artifact: its name.
        why: `written`, `untied`, `another_time`, `past`, `turned` or
            `another_host`.
        told: how many facts of it were set aside.
    """

    artifact: str
    why: str
    told: int


@dataclass(frozen=True, slots=True)
class Parted:
    """What is of the job, and what is not.

    Attributes:
        events: of the job, in their order.
        besides: the files that lie beside it.
        loose: files that nothing ties to the job, and nothing contradicts.
        well: a good end in it may be told; False where another file tells of a job without one.
    """

    events: tuple[Event, ...]
    besides: tuple[Beside, ...] = ()
    loose: frozenset[str] = frozenset()
    well: bool = True

    def without_loose(self) -> tuple[Event, ...]:
        """The events without those of loose files."""
        return tuple(event for event in self.events if event.source.artifact not in self.loose)


@dataclass(slots=True)
class _File:
    """What one artifact tells of whose it is."""

    name: str
    size: int = 0
    events: list[Event] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    days: list[Instant] = field(default_factory=list)
    saved: Instant | None = None
    written: bool = False
    log: bool = False

    def tells(self, *kinds: type[Event]) -> bool:
        """Whether an event of one of some kinds is in it."""
        return any(isinstance(event, kinds) for event in self.events)

    @property
    def recorded(self) -> bool:
        """Whether a program wrote it to be read by one: a bundle, a dump, what the judge keeps."""
        return bool(_OWN_FOLDERS.search(self.name)) or any(
            event.witness in _RECORDING for event in self.events
        )

    @property
    def works(self) -> bool:
        """Whether steps show a job at work."""
        return sum(isinstance(event, Progress) for event in self.events) >= _LEAST_WORK

    @property
    def unfinished(self) -> bool:
        """Whether it shows a job at work or waiting, and no good end."""
        lives = self.works or self.tells(*_WAITS, CommunicatorStage)
        return lives and not self.tells(Finished)

    @property
    def ended_well(self) -> bool:
        """Whether it tells of a good end, and of no trouble."""
        return self.tells(Finished) and not self.tells(*_WAITS, *_TALKS, *_FAILS, ProcessEnded)

    @property
    def decides(self) -> bool:
        """Whether anything in it may convict, acquit, or say how large the job is."""
        return any(not isinstance(event, _LOOKS) for event in self.events)

    @property
    def stale(self) -> bool:
        """Whether it was saved long after the last day that it tells of."""
        return _is_stale(self.days, self.saved)

    @property
    def looked_up(self) -> bool:
        """Whether it holds only what a tool answered."""
        told = [
            event for event in self.events if not isinstance(event, (VersionSeen, LinesDropped))
        ]
        return bool(told) and all(isinstance(event, _LOOKS) for event in told)

    @property
    def of_a_kernel(self) -> bool:
        """Whether only a kernel speaks in it."""
        told = [event for event in self.events if not isinstance(event, _LOOKS)]
        return bool(told) and all(isinstance(event, KernelEvent) for event in told)


def set_aside(
    events: Sequence[Event],
    artifacts: Sequence[Artifact],
    look: Callable[[str], Nature | None],
) -> Parted:
    """Part what is of the job from what lies beside it.

    Args:
        events: of all artifacts.
        artifacts: what was read.
        look: says how an artifact looks, by its name.
    """
    if len(artifacts) < 2:
        return Parted(tuple(events))
    files = _files(events, artifacts)
    turned = dict.fromkeys(_turned(files), "turned")
    if turned:
        parted = _without(events, files, turned)
        rest = set_aside(parted.events, [a for a in artifacts if a.name not in turned], look)
        return replace(rest, besides=(*rest.besides, *parted.besides))
    telling = [file for file in files.values() if file.decides]
    if not telling or len({_series(name) for name in files}) < 2:
        return Parted(tuple(events))
    _look_at(files.values(), look)
    job = _the_job([f for f in files.values() if not f.written and (f.events or f.log)])
    if not job:
        if len(telling) < len(files) and _most_is_unread(files.values()):
            return _without(events, files, {file.name: "written" for file in telling})
        job = _the_job(telling)
    members = [file for file in files.values() if file.name in job]
    others = [file for file in telling if file.name not in job]
    reasons = {file.name: _why(file, members) for file in others}
    loose = frozenset(name for name, why in reasons.items() if why is None)
    held = any(
        f.unfinished or (f.name in loose and not f.ended_well and not f.of_a_kernel)
        for f in others
        if not f.written
    )
    well = not held or not any(file.tells(Finished) for file in members)
    aside = {name: why for name, why in reasons.items() if why is not None}
    return _without(events, files, aside, loose, well=well)


def _turned(files: Mapping[str, _File]) -> Iterator[str]:
    """Logs that were turned over (`train.log.1`) where the next shows the job well at work."""
    for name in files:
        follower = files.get(_TURNED.sub("", name))
        if follower is None or follower.name == name:
            continue
        well = follower.tells(Finished) or follower.works
        if well and not follower.tells(*_WAITS, *_TALKS, *_FAILS, ProcessEnded):
            yield name


def _without(
    events: Sequence[Event],
    files: Mapping[str, _File],
    aside: Mapping[str, str],
    loose: frozenset[str] = frozenset(),
    *,
    well: bool = True,
) -> Parted:
    """All events but those of files that lie aside; what tools looked up stays."""
    kept = tuple(e for e in events if e.source.artifact not in aside or isinstance(e, _LOOKS))
    besides = tuple(
        Beside(
            artifact=name,
            why=why,
            told=sum(not isinstance(event, _LOOKS) for event in files[name].events),
        )
        for name, why in sorted(aside.items())
    )
    return Parted(kept, besides, loose, well)


def _most_is_unread(files: Iterable[_File]) -> bool:
    """Whether what nobody understands is larger than all that people wrote."""
    written = unread = 0
    for file in files:
        if file.decides:
            written += file.size
        elif not file.written:
            unread = max(unread, file.size)
    return unread > written


def _files(events: Iterable[Event], artifacts: Iterable[Artifact]) -> dict[str, _File]:
    files = {a.name: _File(a.name, size=a.size_bytes or 0) for a in artifacts}
    for event in events:
        name = event.source.artifact
        file = files.get(name)
        if file is None:
            file = files[name] = _File(name)
        file.events.append(event)
        origin = event.origin
        told = (origin.host, getattr(event, "host", None))
        file.hosts.update(_short(host) for host in told if isinstance(host, str) and host)
        numbers = (origin.pid, getattr(event, "pid", None))
        file.pids.update(pid for pid in numbers if isinstance(pid, int) and pid > 1)
        if origin.rank is not None:
            file.ranks.add(int(origin.rank))
        if isinstance(event, CommunicatorStage) and event.comm_id is not None:
            file.ids.add(event.comm_id)
        if event.at is not None and event.at.clock in DATED:
            file.days.append(event.at)
    return files


def _look_at(files: Iterable[_File], look: Callable[[str], Nature | None]) -> None:
    """Add what the lines of files tell; of a long series of files a few stand for all."""
    seen: dict[str, int] = {}
    for file in files:
        series = _series(file.name)
        seen[series] = seen.get(series, 0) + 1
        if seen[series] > _LOOKED_AT:
            continue
        nature = look(file.name)
        if nature is None:
            continue
        file.written = nature.is_document and not file.recorded and not file.tells(*_ANSWERS)
        file.log = nature.is_log
        file.saved = nature.saved
        if not file.written:
            file.hosts.update(map(_short, nature.hosts))
            file.days = sorted([*file.days, *nature.days], key=_as_read)


def _as_read(day: Instant) -> tuple[bool, float]:
    return day.clock is Clock.LOCAL_NO_YEAR, day.seconds


def _short(host: str) -> str:
    """A name without its domain; an address whole."""
    first, _, rest = host.lower().partition(".")
    return host.lower() if first.isdigit() else first if rest else host.lower()


def _the_job(files: Sequence[_File]) -> set[str]:
    """The series of files that tells most, and all that is tied to it; none of no files."""
    weights: dict[str, float] = {}
    days = [day for file in files for day in file.days if day.clock is not Clock.LOCAL_NO_YEAR]
    newest = max(days, key=lambda day: day.seconds, default=None)
    for file in files:
        series = _series(file.name)
        weights[series] = weights.get(series, 0.0) + _weight(file, newest)
    if not weights:
        return set()
    heaviest = max(sorted(weights), key=lambda series: weights[series])
    job = {file.name for file in files if _series(file.name) == heaviest}
    grown = True
    while grown:
        members = [file for file in files if file.name in job]
        fresh = {f.name for f in files if f.name not in job and _is_tied(f, members)}
        job |= fresh
        grown = bool(fresh)
    return job


def _weight(file: _File, newest: Instant | None = None) -> float:
    """How much of a job's life a file tells.

    Few ask about a job that ended well, or about one that is long past, and what tools looked up
    tells of a job that logs tell of better.

    Args:
        file: what is weighed.
        newest: the latest day that any file tells of.
    """
    waits, talks, fails = (file.tells(*kinds) for kinds in (_WAITS, _TALKS, _FAILS))
    kinds = len({type(event) for event in file.events})
    size = 4 * math.log10(file.size + 100) + 1.5 * math.log10(len(file.events) + 1)
    whole = 12.0 * waits + 5 * talks + 5 * fails + 3 * (file.tells(ProcessEnded) + file.works)
    whole += 0.5 * min(len(file.ranks), 4)
    asked = (0.7 if file.ended_well else 1.0) * (0.6 if file.looked_up else 1.0)
    asked *= 0.6 if file.of_a_kernel else 1.0  # which tells of a host
    asked *= 0.5 ** (file.stale + _is_stale(file.days, newest))
    return asked * (whole + 0.5 * kinds + size)


def _series(name: str) -> str:
    """Files that differ only in numbers, or in the folder of a host or a start, are one series."""
    return "/".join(_DIGITS.sub("#", part) for part in re.split("[/!]", name)[-_TAIL:])


def _is_tied(file: _File, job: Sequence[_File]) -> bool:
    if file.tells(HoldUp):
        return True  # a run record: somebody gave it for this job
    if _OWN_FOLDERS.search(file.name) and any(_OWN_FOLDERS.search(other.name) for other in job):
        return True
    return any(_tie(file, other) for other in job)


def _tie(file: _File, other: _File) -> bool:
    """Whether two files share a host, an identifier, a place in a series, or a process and time."""
    if _is_far(file, other):
        return False
    if file.ids & other.ids or _share_host(file, other) or _are_alike(file.name, other.name):
        return True
    if _mentions(file, other) or _mentions(other, file):
        return True
    if file.hosts and other.hosts:
        return False
    return bool(file.pids & other.pids) or _is_near(file, other)


def _share_host(file: _File, other: _File) -> bool:
    """Whether they name one host, or names that end alike: `job-worker-1`, `pod-worker-1`."""
    if file.hosts & other.hosts:
        return True
    ends = [{m[0] for host in f.hosts if (m := _HOST_END.search(host))} for f in (file, other)]
    return bool(ends[0] & ends[1])


def _are_alike(name: str, other: str) -> bool:
    """`a.log` beside `b.log`, `n0/err` beside `n1/err`: one character or number apart."""
    if _TURNED.sub("", name) == _TURNED.sub("", other):
        return True
    if _series(name) == _series(other) or _of_one_rank(name, other) or _are_streams(name, other):
        return True
    return len(name) == len(other) and sum(a != b for a, b in zip(name, other, strict=True)) == 1


def _are_streams(name: str, other: str) -> bool:
    """Whether they are the streams of one program, or bear one long number: `slurm-4711.err`."""
    folders, parts = zip(*(_parted(n) for n in (name, other)), strict=True)
    if folders[0] != folders[1]:
        return False
    if parts[0] - _STREAMS == parts[1] - _STREAMS and parts[0] & _STREAMS and parts[1] & _STREAMS:
        return True
    return any(len(part) >= _LONG_NUMBER and part.isdigit() for part in parts[0] & parts[1])


def _parted(name: str) -> tuple[str, frozenset[str]]:
    folder, _, last = name.rpartition("/")
    return folder, frozenset(part for part in re.split(r"[^a-z0-9]+", last.lower()) if part)


def _of_one_rank(name: str, other: str) -> bool:
    """Whether they lie in one folder whose name is a number: `attempt_0/3/stdout.log`."""
    folder, its = name.rpartition("/")[0], other.rpartition("/")[0]
    return folder == its and folder.rpartition("/")[2].isdigit()


def _mentions(file: _File, other: _File) -> bool:
    """Whether the lines of one name a host of the other."""
    names = [h for h in other.hosts if len(h) >= _SHORTEST_NAME and any(c.isdigit() for c in h)]
    if not names:
        return False
    listed = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)
    return any(listed.search(event.source.text) for event in file.events)


def _is_near(file: _File, other: _File) -> bool:
    """Whether dates of both lie within a night of each other."""
    gap_s = _gap_s(file.days, other.days)
    return gap_s is not None and gap_s <= _NEAR_S


def _is_far(file: _File, other: _File) -> bool:
    gap_s = _gap_s(file.days, other.days)
    return gap_s is not None and gap_s > _FAR_S


def _gap_s(days: Sequence[Instant], other: Sequence[Instant]) -> float | None:
    """Seconds between two spans; None where their clocks cannot be compared."""
    if not days or not other:
        return None
    gaps = [_apart(a, b) for a in (days[0], days[-1]) for b in (other[0], other[-1])]
    told = [gap for gap in gaps if gap is not None]
    if not told:
        return None
    if min(told) <= 0 <= max(told) and max(told) - min(told) < _LONGEST_S:
        return 0.0
    return min(abs(gap) for gap in told)


def _is_stale(days: Sequence[Instant], now: Instant | None) -> bool:
    """Whether the last of some days is long before `now`."""
    last = max((d.seconds for d in days if d.clock is not Clock.LOCAL_NO_YEAR), default=None)
    return now is not None and last is not None and now.seconds - last > _STALE_S


def _apart(one: Instant, other: Instant) -> float | None:
    """Seconds between two instants; which zone they are of matters little over days."""
    pair = (replace(i, clock=Clock.LOCAL) if i.clock is Clock.UTC else i for i in (one, other))
    return next(pair).since(next(pair))


def _why(file: _File, job: Sequence[_File]) -> str | None:
    """Why a file is not the job's; None where it may be."""
    if file.written:
        return "written"
    if any(_is_far(file, other) for other in job):
        return "another_time"
    hosts = {host for other in job for host in other.hosts}
    if file.hosts and hosts:
        return "another_host" if file.of_a_kernel else "untied"
    lives = file.works or file.tells(*_WAITS, CommunicatorStage)
    undated = not any(other.days for other in job)
    kept = lives or file.recorded or file.of_a_kernel
    return "past" if file.stale and undated and not kept else None
