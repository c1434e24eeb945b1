"""One incarnation of a failed (or healthy) job, as facts that rules judge."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from unhang.model.coverage import Coverage
from unhang.model.events import (
    CollectiveTimeout,
    Event,
    EventIndex,
    Fact,
    GroupRef,
    Seen,
)
from unhang.model.ids import NO_RANKS, LocalRank, ManyRanks, Rank, Ranks, RankSpans, SeqId
from unhang.model.phases import Phase
from unhang.model.provenance import Problem, Provenance
from unhang.model.recorder_analysis import RecorderAnalysis
from unhang.model.stack_states import StackClass, StackState
from unhang.model.time import Instant
from unhang.model.waiting import first_begun
from unhang.model.waits import NO_WAITS, Analysis, WitnessKind
from unhang.model.words import Word

E = TypeVar("E", bound=Seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFacts:
    """What is known of one global rank. It is listed only if it was *observed* or named."""

    rank: Rank
    observed: bool
    """At least one line of its own was seen."""
    host: str | None = None
    local_rank: LocalRank | None = None
    pids: frozenset[int] = frozenset()
    last_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSide:
    """One process's side of one call; nothing need tell whose process it is.

    Attributes:
        timed_out: its own watchdog gave up on it.
        at: when it gave up.
    """

    op: str | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    shape: tuple[int, ...] | None = None
    timeout_ms: int | None = None
    elapsed_ms: int | None = None
    enqueued: int | None = None
    completed: int | None = None
    timed_out: bool = True
    at: Instant | None = None
    source: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(CallSide):
    """One rank's side of one call.

    Attributes:
        rank: global rank, or the group rank where `global_rank` is False.
    """

    rank: Rank
    global_rank: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One collective of one group at one sequence number, over all ranks that were seen in it.

    Attributes:
        group: the group as the log names it; None where no line names it.
        seq: None before torch 1.12.
        joins: by rank, those that timed out in it.
        unnamed: those that timed out in it whose rank nobody tells.
        absent: observed to be elsewhere (named by a report, or counters below `seq`).
        passed: observed to have completed it or to have issued a later one.
        silent: members of which nothing was observed.
        members: the group's ranks where known.
    """

    group: GroupRef | None
    seq: SeqId | None
    joins: Mapping[Rank, Join]
    unnamed: tuple[CallSide, ...] = ()
    absent: Ranks = NO_RANKS
    passed: Ranks = NO_RANKS
    silent: ManyRanks = NO_RANKS
    members: ManyRanks | None = None

    @property
    def joined(self) -> Ranks:
        """Ranks that issued it and wait."""
        return frozenset(self.joins)

    @property
    def sides(self) -> tuple[CallSide, ...]:
        """All that timed out in it, those of named ranks first."""
        return (*self.joins.values(), *self.unnamed)

    @property
    def ops(self) -> frozenset[str]:
        """Distinct operations seen at this sequence number."""
        return frozenset(j.op for j in self.sides if j.op is not None)

    @property
    def timeout_ms(self) -> int | None:
        """The smallest configured limit seen."""
        limits = [j.timeout_ms for j in self.sides if j.timeout_ms is not None]
        return min(limits, default=None)

    @property
    def first(self) -> CallSide | None:
        """The side that gave up first; without times the first that was read."""
        return next(iter(self.sides), None)


class Manner(enum.Enum):
    """How a process failed."""

    RAISED = "raised"
    GPU_OOM = "gpu-oom"
    HOST_OOM = "host-oom"
    KILLED = "killed"
    """SIGKILL without a reason in sight."""
    CRASHED = "crashed"
    """SIGSEGV, SIGBUS, SIGFPE, SIGILL, or SIGABRT without a watchdog."""
    DEVICE = "device"
    NCCL = "nccl"
    EXITED = "exited"
    """A non-zero exit code without a printed reason."""
    WATCHDOG = "watchdog"
    """Ended by its own watchdog: a victim."""
    CLOSED = "closed"
    """Ended by its launcher after another failure: a victim."""
    PEER = "peer"
    """Failed because another rank went away: second-hand."""
    STOPPED = "stopped"
    """Ended from outside."""


VICTIM_MANNERS = frozenset({Manner.WATCHDOG, Manner.CLOSED, Manner.PEER, Manner.STOPPED})
"""Manners that say that somebody else was first."""


class Tie(enum.Enum):
    """What ties the end of a process to the job."""

    TOLD = "told"
    """Its rank or pid is one of the job's, or somebody of the job saw it end."""
    TIME = "time"
    """Nothing but the host's kernel log tells of it; its name fits, and so does the time."""
    NAME = "name"
    """Nothing but the host's kernel log tells of it, and only its name or only the time fits."""
    NONE = "none"
    """The job worked on after it, or neither name nor time fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One process's failure, merged from everything that tells of it.

    Attributes:
        rank: global rank, or None where it could not be resolved.
        manner: how; `VICTIM_MANNERS` mean that somebody else was first.
        at: earliest printed time of it.
        events: what told of it, the most telling first.
        order: position by time where times allow, else by place in the log; smaller = earlier.
        signal, exit_code: how the process ended, where a reporter said so.
        tie: what makes the process one of this job.
    """

    rank: Rank | None
    host: str | None
    local_rank: LocalRank | None
    pid: int | None
    manner: Manner
    at: Instant | None
    events: tuple[Event, ...]
    order: int
    signal: int | None = None
    exit_code: int | None = None
    tie: Tie = Tie.TOLD

    @property
    def own(self) -> bool:
        """Whether the process failed by itself, and not because of another."""
        return self.manner not in VICTIM_MANNERS

    @property
    def source(self) -> Provenance:
        """The most telling line."""
        return self.events[0].source


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPhase:
    """A phase that a rank had entered and not left when the job failed.

    Attributes:
        rank: None where the line does not tell whose it is.
        since: when it began, or None.
        lasted_s: how long it had lasted at the failure, from its bar or from times.
        exclusive: only this rank shows the phase, others show another or wait.
        unfinished: there is proof that it was under way at the failure (a bar below 100 %,
            a begin mark without its end mark), not merely the last thing printed.
    """

    rank: Rank | None
    phase: Phase
    detail: str
    since: Instant | None
    lasted_s: float | None
    exclusive: bool
    unfinished: bool
    source: Provenance
    framework: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Size of the job and how it is known."""

    size: int | None = None
    basis: str | None = None

    @property
    def ranks(self) -> RankSpans | None:
        """All ranks of the job, or None where nothing tells how many there are."""
        return None if self.size is None else RankSpans.below(self.size)


class Introduced(enum.Enum):
    """How a log introduces what it tells of trouble; see `engine.introduced`."""

    LED_TO = "led-to"
    """The line above tells of no trouble and counts nothing, as any line may."""
    SAID = "said"
    """It breaks off before what it shows, or begins what people show."""
    ENCLOSED = "enclosed"
    """The voice above speaks again below."""


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Everything known about one incarnation.

    Attributes:
        incarnation: 0-based; `incarnations` how many the artifacts hold.
        restarted: the launcher began it anew after a failure of the same job; False for a job's
            first run and for a run of its own that was appended to the same log.
        connected_before: it was begun anew, and its first start had connected its ranks.
        events: all events of this incarnation in reading order, repeated prints removed.
        calls: calls in which at least one rank timed out, first give-up first.
        failures: failed processes, earliest first.
        strangers: ends in kernel logs that nothing ties to the job, earliest first.
        open_phases: what was under way at the failure, best proof first.
        stances: where each process stood when its stacks were taken, by rank.
        standings: the same by class: processes that stand at the same place, most first.
        counted: work after the trouble that lines count in words that no parser knows, where it
            was looked for.
        introduced: whether somebody introduces all its trouble, where it was looked for.
        words: of all its logs, understood or not; of all incarnations in each.
        contested: another job's log lies beside it that may as well be the one asked about.
        finished: a line says that the whole job ended well, and nothing after it is more than
            the noise of tearing down.
        framework: name and what showed it.
        analyses: who waits for whom by each kind of witness alone.
        waits: the same by all of them together.
        recorded: what Flight Recorder dumps show; None without dumps.
        problems: what could not be put together; of all incarnations, in the last one.
    """

    incarnation: int = 0
    incarnations: int = 1
    restarted: bool = False
    connected_before: bool = False
    events: tuple[Event, ...] = ()
    world: World = field(default_factory=World)
    roster: Mapping[Rank, RankFacts] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    failures: tuple[Failure, ...] = ()
    strangers: tuple[Failure, ...] = ()
    open_phases: tuple[OpenPhase, ...] = ()
    stances: tuple[StackState, ...] = ()
    standings: tuple[StackClass, ...] = ()
    finished: bool = False
    counted: tuple[Event, ...] = ()
    introduced: Introduced | None = None
    words: Mapping[str, Word] = field(default_factory=dict)
    contested: bool = False
    framework: tuple[str, str] | None = None
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Version and its basis by component."""
    coverage: Coverage = field(default_factory=Coverage)
    analyses: Mapping[WitnessKind, Analysis] = field(default_factory=dict)
    waits: Analysis = NO_WAITS
    recorded: RecorderAnalysis | None = None
    problems: tuple[Problem, ...] = ()

    @cached_property
    def index(self) -> EventIndex:
        """The events by their class."""
        return EventIndex(self.events)

    def all(self, kind: type[E]) -> tuple[E, ...]:
        """Events of one class, in reading order."""
        return self.index.all(kind)

    @cached_property
    def with_counted(self) -> Sequence[Event]:
        """The events, and between them the work that lines count in words that no parser knows."""
        if not self.counted:
            return self.events
        both = (*self.events, *self.counted)
        return sorted(both, key=lambda e: (e.source.artifact, e.source.line or 0))

    def analysis(self, kind: WitnessKind) -> Analysis:
        """Who waits for whom by one kind of witness; nobody where there is none."""
        return self.analyses.get(kind, NO_WAITS)

    def shows(self, fact: Fact) -> bool:
        """Whether any event shows it."""
        return any(kind.fact is fact for kind in self.index.classes)

    @property
    def timeouts(self) -> tuple[CollectiveTimeout, ...]:
        """All collective time-outs, in reading order."""
        return self.all(CollectiveTimeout)

    @cached_property
    def first_waits(self) -> tuple[CollectiveTimeout, ...]:
        """The time-outs whose waits began first, one of each clock."""
        return first_begun(self.timeouts)

    @property
    def gave_up(self) -> Ranks:
        """Ranks that timed out in a call."""
        return NO_RANKS.union(*(call.joined for call in self.calls))

    @property
    def gave_up_unnamed(self) -> int:
        """How many more did at least, whose ranks nobody tells."""
        return max((len(call.unnamed) for call in self.calls), default=0)

    @property
    def own_failures(self) -> tuple[Failure, ...]:
        """Processes that failed by themselves, earliest first."""
        return tuple(f for f in self.failures if f.own)


def ranks_of(items: Iterable[Failure | RankFacts | OpenPhase]) -> Ranks:
    """The known ranks of some facts."""
    return frozenset(i.rank for i in items if i.rank is not None)
