"""What two sets of runs tell about each other. Durations in seconds unless a name says hours."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from unhang.model.ids import Ranks
from unhang.model.measurements import MeasuredSave, RankSetting, StepTimes
from unhang.model.provenance import Message, Problem


class Answer(enum.Enum):
    """Whether the runs after a change are better than those before it."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference shown"
    TOO_FEW = "too few runs"


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval; `high` may be infinite."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One start of a job, as far as it is known.

    Attributes:
        name: where it was read.
        hours: how long it was watched; None = unknown.
        failed: it ended by a failure; False = it ended well, was stopped, or still runs.
        hung: the failure was a hang.
        cause: of the failure, where a verdict names one.
        phases_s: durations of its phases by name.
        settings: the environment that bears on hangs, and versions, with the ranks that had them.
        printed: settings that NCCL itself printed that it had read.
        world_size: of the job, or None.
        steps: times of its optimizer steps, or None.
        saves: that were seen.
        bandwidth: bytes per second on the bus by size of the message, as measured.
    """

    name: str
    hours: float | None
    failed: bool
    hung: bool = False
    cause: str | None = None
    phases_s: dict[str, tuple[float, ...]] = field(default_factory=dict)
    settings: tuple[RankSetting, ...] = ()
    printed: tuple[RankSetting, ...] = ()
    world_size: int | None = None
    steps: StepTimes | None = None
    saves: tuple[MeasuredSave, ...] = ()
    bandwidth: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One set of runs, summed up.

    Attributes:
        hours: watched altogether; None where a run does not tell.
        per_hour: failures per hour, exact 95 % interval; None without hours.
        per_start: share of starts that failed, exact 95 % interval.
        hangs_per_start: likewise for hangs.
        median_hours: Kaplan-Meier median of the time to a failure; None where too few failed.
        phases: median and 99th percentile of each phase.
        steps: median and 99th percentile of the median run, or None.
        saves: how many, median bytes, median seconds; None = none was seen.
        bandwidth: median over the runs, by size of the message.
    """

    runs: int
    failures: int
    hangs: int
    hours: float | None
    per_hour: Interval | None
    per_start: Interval
    hangs_per_start: Interval
    median_hours: float | None
    causes: dict[str, int]
    phases: dict[str, tuple[float, float]]
    steps: tuple[float, float] | None = None
    saves: tuple[int, float, float] | None = None
    bandwidth: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksOfRun:
    """Some ranks of one run; empty = nobody tells which."""

    run: str
    ranks: Ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A setting that differs between the two sets.

    Attributes:
        before, after: the values seen; empty = in no run.
        partly: the new value was not seen in every run or on every rank.
        lacking: ranks of the runs after the change that do not have the new value, or still have
            one that was dropped.
        unrecorded: ranks of those runs of which nothing was recorded.
        printed: what NCCL itself printed that it had read, in the runs after.
        remark: why it cannot do what it was put there for, or None.
    """

    name: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    partly: bool
    lacking: tuple[RanksOfRun, ...] = ()
    unrecorded: tuple[RanksOfRun, ...] = ()
    printed: tuple[str, ...] = ()
    remark: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The JSON contract `unhang.compare/1`.

    Attributes:
        by: what was counted: `hours` or `starts`.
        ratio: rate after divided by rate before, with its exact 95 % interval.
        p: one-sided, for the direction of the estimate.
        needed: hours (or starts) of each side after which a difference like this one would be
            shown in four of five cases; None where there is no difference to show.
    """

    answer: Answer
    by: str
    before: Side
    after: Side
    ratio: Interval
    p: float
    needed: float | None
    settings: tuple[SettingChange, ...] = ()
    problems: tuple[Problem, ...] = ()
