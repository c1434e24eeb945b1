"""From events, and a look at the lines, to what each file that was given tells of whose it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from unhang import lazy_re as re
from unhang.engine.nature import DATED, Nature
from unhang.model.events import (
    TROUBLE,
    BandwidthMeasured,
    BarrierMissing,
    CheckFault,
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
    FrameworkSeen,
    GlooFault,
    GpuProcess,
    GpuState,
    GpuUuid,
    GroupStatus,
    HoldUp,
    HostAddress,
    HostReport,
    HostsDiffer,
    KernelEvent,
    KernelProblem,
    LinesDropped,
    LinkLoad,
    LinkMeasured,
    ModelMismatch,
    NcclFailure,
    PeerPathMeasured,
    ProcessEnded,
    Progress,
    PythonException,
    RasReport,
    SharedMemorySeen,
    StackRefused,
    StackSeen,
    StepsTimed,
    StopSeen,
    StoreFault,
    ThreadStack,
    TopologySeen,
    UnreadLine,
    VersionSeen,
    WatchdogAborted,
    WorldSeen,
)
from unhang.model.events.lifecycle import state_of_work
from unhang.model.events.meaning import Role, Witness
from unhang.model.pci import pci_address
from unhang.model.time import Clock, Instant
from unhang.sources.artifact import Artifact

LOOKS = (
    BandwidthMeasured,
    CheckFault,
    CollectivesMeasured,
    DumpRead,
    DumpUnusable,
    GpuProcess,
    GpuState,
    GpuUuid,
    HoldUp,
    HostAddress,
    HostReport,
    HostsDiffer,
    LinesDropped,
    LinkLoad,
    LinkMeasured,
    RasReport,
    SharedMemorySeen,
    StackRefused,
    StackSeen,
    StepsTimed,
    ThreadStack,
    PeerPathMeasured,
    TopologySeen,
    VersionSeen,
)
"""What tools tell that somebody asked about this job or host: it says of itself what it is of."""


def is_look(event: Event) -> bool:
    """Whether a tool tells it that somebody asked."""
    compared = isinstance(event, DesyncReported | FingerprintMismatch) and event.by_tool
    return compared or isinstance(event, LOOKS)


_ANSWERS = tuple(
    kind for kind in LOOKS if kind not in (LinesDropped, StackSeen, StepsTimed, VersionSeen)
)
"""What only a tool writes: a file that holds it is no document, in whatever form it is."""
WAITS = (
    *(CollectiveTimeout, GroupStatus, WatchdogAborted, DesyncReported, BarrierMissing),
    *(DumpRead, ThreadStack, RasReport, FingerprintMismatch),
)
TALKS = (StoreFault, GlooFault, NcclFailure, CommunicatorStage, ModelMismatch)
FAILS = (PythonException, DeviceFault)
_RECORDING = frozenset({Witness.STACK, Witness.RECORDER, Witness.JUDGE})
_STALE_S = 30 * 86_400.0
"""A log that was saved so long after its last line is kept, not fresh."""
_LEAST_WORK = 3
_LEAST_LIKE = 0.5
_LEAST_OURS = 24
"""Share and number of the lines of a log that are such as programs of a job write."""
_LOOKED_AT = 3
"""Members of a series of files that are looked at."""
OWN_FOLDERS = re.compile(r"(?:^|[/!])(?:host=|output/|captures/|boards/)|\.unhang\.tar")
"""Bundles and run folders of unhang hold nothing but their job."""
_RUN_RECORD = '{"schema":"unhang.standing/'
_DIGITS = re.compile(r"\d+")
_PYTHON = re.compile(r"py|pt_|ray|torch")
"""How the names of processes begin that run Python, of themselves or by what they set."""
_TAIL = 3
"""Parts of a path that tell what a file is; those before them tell of which host or start."""


@dataclass(slots=True)
class GivenFile:
    """What one artifact tells of whose it is.

    Attributes:
        places: in code, where exceptions were raised through.
        devices: PCI addresses of the job's GPUs, or of what an IOMMU stopped.
        unread: lines that look like a failure, whatever kind of file they stand in.
        written: people wrote it.
        shows: it is a short text that shows lines of others: a page, a search, a script.
        log: its lines are such as programs write.
        like: share of its lines that are such as programs of a job write.
        ours: how many these are.
    """

    name: str
    size: int = 0
    events: list[Event] = field(default_factory=list)
    unread: int = 0
    hosts: set[str] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    places: set[tuple[str, int]] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    days: list[Instant] = field(default_factory=list)
    saved: Instant | None = None
    written: bool = False
    shows: bool = False
    log: bool = False
    like: float = 1.0
    ours: float = math.inf

    def tells(self, *kinds: type[Event]) -> bool:
        """Whether an event of one of some kinds is in it."""
        return any(isinstance(event, kinds) for event in self.events)

    @property
    def recorded(self) -> bool:
        """Whether a program wrote it to be read by one: a bundle, a dump, what the judge keeps."""
        ours = bool(OWN_FOLDERS.search(self.name)) or self.of_a_run
        return ours or any(event.witness in _RECORDING for event in self.events)

    @property
    def is_answer(self) -> bool:
        """Whether it holds what only a tool writes that somebody asked."""
        return self.tells(*_ANSWERS)

    @property
    def of_a_run(self) -> bool:
        """Whether the live judge wrote it of a run that it watched."""
        return self.tells(HoldUp) or any(
            event.source.text.startswith(_RUN_RECORD) for event in self.events
        )

    @property
    def works(self) -> bool:
        """Whether steps show a job at work."""
        steps = sum(isinstance(event, Progress) for event in self.events)
        states = {state_of_work(event) for event in self.events} - {None}
        return max(steps, len(states)) >= _LEAST_WORK

    @property
    def lives(self) -> bool:
        """Whether it shows a job at work, connecting or waiting."""
        return self.works or self.tells(*WAITS, CommunicatorStage)

    @property
    def tells_of_a_job(self) -> bool:
        """Whether it shows a job in any state; settings and what was looked up show none."""
        return self.lives or any(
            event.role in TROUBLE and not isinstance(event, KernelEvent) for event in self.events
        )

    @property
    def unfinished(self) -> bool:
        """Whether it shows a job at work or waiting, and no good end."""
        return self.lives and not self.tells(Finished)

    @property
    def is_whole(self) -> bool:
        """Whether it shows a job at work up to its good end: no other file needs to explain it."""
        return (self.works or self.log) and self.ended_well

    @property
    def ended_well(self) -> bool:
        """Whether it tells of a good end, and of no trouble."""
        return self.tells(Finished) and not self.tells(*WAITS, *TALKS, *FAILS, ProcessEnded)

    @property
    def decides(self) -> bool:
        """Whether anything in it may convict, acquit, or say how large the job is."""
        return self.told > 0

    @property
    def told(self) -> int:
        """How many facts in it may."""
        return self.unread + sum(not self._is_look(event) for event in self.events)

    def _is_look(self, event: Event) -> bool:
        """Whether it is what a tool answered, or a package whose code a stack shows."""
        in_stack = isinstance(event, FrameworkSeen) and self.tells(ThreadStack)
        return in_stack or is_look(event)

    @property
    def told_of_events(self) -> int:
        """How many of these tell more than what the job is made of, as its launch script does."""
        return self.unread + sum(map(tells_of_an_event, self.events))

    @property
    def unlike(self) -> bool:
        """Whether it is of another form than what programs of a job write, and shows no work."""
        asked = self.recorded or self.is_answer or any(map(is_asked_for, self.events))
        few = self.like < _LEAST_LIKE and self.ours < _LEAST_OURS
        return few and not (asked or self.works)

    @property
    def stale(self) -> bool:
        """Whether it was saved long after the last day that it tells of."""
        return is_stale(self.days, self.saved)

    @property
    def looked_up(self) -> bool:
        """Whether it holds only what a tool answered."""
        told = [
            event for event in self.events if not isinstance(event, (VersionSeen, LinesDropped))
        ]
        return bool(told) and all(map(self._is_look, told))

    @property
    def of_a_kernel(self) -> bool:
        """Whether only a kernel speaks in it."""
        told = [event for event in self.events if not self._is_look(event)]
        return bool(told) and all(isinstance(event, KernelEvent) for event in told)

    @property
    def of_other_programs(self) -> bool:
        """Whether only a kernel speaks in it, and names all processes, none of which is Python."""
        told = [event for event in self.events if isinstance(event, KernelEvent)]
        names = {event.pid: event.process for event in told if event.process is not None}
        pids = {event.pid for event in told} - {None}
        named = len(pids) > 0 and all(pid in names for pid in pids)
        return self.of_a_kernel and named and not any(map(_PYTHON.match, names.values()))


def _device(event: Event) -> str | None:
    """The address by which what a tool or an IOMMU says of a GPU, and its job may be tied."""
    if isinstance(event, KernelEvent) and event.problem is KernelProblem.IOMMU_FAULT:
        return pci_address(event.device or "")
    if isinstance(event, HostReport):
        return pci_address(event.device or "")
    gpu = event.bus_id if isinstance(event, (CommunicatorStage, GpuState, WorldSeen)) else None
    return None if gpu is None else pci_address(gpu)


def is_asked_for(event: Event) -> bool:
    """Whether somebody asked a scheduler or a cluster for it afterwards."""
    return isinstance(event, ProcessEnded | StopSeen) and event.told_later


_ANSWERED = re.compile(r'\s*"\w+": |\d{3} \(\d{1,9}\.\d{3,6}\.\d{3,6}\) ')


def _is_member(event: Event) -> bool:
    """Whether it is a member of what a cluster answered in JSON, or HTCondor wrote of a job."""
    return is_asked_for(event) and _ANSWERED.match(event.source.text) is not None


def given_files(events: Iterable[Event], artifacts: Iterable[Artifact]) -> dict[str, GivenFile]:
    """What the events of each artifact tell of whose it is, by its name."""
    files = {a.name: GivenFile(a.name, size=a.size_bytes or 0) for a in artifacts}
    for event in events:
        name = event.source.artifact
        file = files.get(name)
        if file is None:
            file = files[name] = GivenFile(name)
        if not event.of_any_text:
            file.events.append(event)
        elif isinstance(event, UnreadLine):
            file.unread += 1
        else:
            continue
        origin = event.origin
        told = (origin.host, getattr(event, "host", None), *getattr(event, "checked", ()))
        file.hosts.update(_short(host) for host in told if isinstance(host, str) and host)
        numbers = (origin.pid, getattr(event, "pid", None))
        file.pids.update(pid for pid in numbers if isinstance(pid, int) and pid > 1)
        if (device := _device(event)) is not None:
            file.devices.add(device)
        if origin.rank is not None:
            file.ranks.add(int(origin.rank))
        if isinstance(event, CommunicatorStage) and event.comm_id is not None:
            file.ids.add(event.comm_id)
        if isinstance(event, PythonException):
            file.places.update((f.file, f.line) for f in event.frames if f.line)
        if event.at is not None and event.at.clock in DATED:
            file.days.append(event.at)
    return files


def look_at(files: Iterable[GivenFile], look: Callable[[str], Nature | None]) -> None:
    """Add what the lines of files tell; of a long series of files a few stand for all."""
    seen: dict[str, int] = {}
    for file in files:
        series = series_of(file.name)
        seen[series] = seen.get(series, 0) + 1
        if seen[series] > _LOOKED_AT:
            continue
        nature = look(file.name)
        if nature is None:
            continue
        answers = file.recorded or file.is_answer or any(map(_is_member, file.events))
        file.written = nature.is_document and not answers
        file.log = nature.is_log
        file.shows = nature.shows and not (file.works or answers)
        file.saved = nature.saved
        file.like = _like(file, nature)
        file.ours = file.like * nature.lines
        if not file.written:
            file.hosts.update(map(_short, nature.hosts))
            file.days = sorted([*file.days, *nature.days], key=_as_read)


def _like(file: GivenFile, nature: Nature) -> float:
    """The share of the lines that a program of a job wrote: by their form, or because they tell."""
    told = {event.source.line for event in file.events}
    strange = sum(number not in told for number in nature.strange)
    return 1.0 - max(strange - file.unread, 0) / max(nature.looked_at, 1)


def _as_read(day: Instant) -> tuple[bool, float]:
    return day.clock is Clock.LOCAL_NO_YEAR, day.seconds


def _short(host: str) -> str:
    """A name without its domain; an address whole."""
    first, _, rest = host.lower().partition(".")
    return host.lower() if first.isdigit() else first if rest else host.lower()


@lru_cache(maxsize=1 << 15)
def series_of(name: str) -> str:
    """Files that differ only in numbers, or in the folder of a host or a start, are one series."""
    return "/".join(_DIGITS.sub("#", part) for part in re.split("[/!]", name)[-_TAIL:])


def tells_of_an_event(event: Event) -> bool:
    """Whether it may decide, and tells more than what the job is made of."""
    return event.role is not Role.SETUP and not is_look(event)


def is_stale(days: Sequence[Instant], now: Instant | None) -> bool:
    """Whether the last of some days is long before `now`."""
    last = max((d.seconds for d in days if d.clock is not Clock.LOCAL_NO_YEAR), default=None)
    return now is not None and last is not None and now.seconds - last > _STALE_S
