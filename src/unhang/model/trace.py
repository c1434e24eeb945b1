"""What each rank did when, as slices on tracks: what `unhang timeline` writes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.activity import Activity, ActivityBasis
from unhang.model.ids import Rank
from unhang.model.provenance import Problem


class SliceKind(enum.Enum):
    """What a slice is. The value is its category in the trace."""

    CALL = "collective"
    STATE = "state"
    """What the live judge saw a rank do."""
    PHASE = "phase"
    TASK = "task"
    """A piece of a program's own timeline."""


@dataclass(frozen=True, slots=True)
class CallKey:
    """One call of one group: the same on all members."""

    group: str
    number: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One thing that one rank did.

    Attributes:
        process: `rank 3`, or what takes its place where no rank is known (`worker 4711`).
        rank: global rank, or None.
        host: where it ran, "" where unknown: ranks of one host have one clock.
        track: below the process: a process group, `phase`, a thread.
        begin_s: seconds since 1970, or of a clock without a date (`Trace.dated`).
        end_s: None = it had not ended when the record was made.
        activity: for the heatmap; None = it does not tell.
        call: the call that it is a part of, or None.
        joint: a member can end the call only after all members have begun it.
        details: what else is known, for who clicks.
    """

    process: str
    rank: Rank | None = None
    host: str = ""
    track: str
    name: str
    kind: SliceKind
    begin_s: float
    end_s: float | None
    activity: Activity | None = None
    call: CallKey | None = None
    joint: bool = False
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened at one time; `process` is "" where it concerns the whole job."""

    at_s: float
    name: str
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset:
    """What was added to the times of some ranks, so that they fit those of the first ones.

    Attributes:
        clock: the host, or the rank where its host is unknown.
        offset_s: added; 0 where the clocks agree within the error.
        error_s: how far it may be off; None = no constant offset fits: the clock runs differently.
        calls: shared calls that it was computed from; 0 = there are none, and nothing was changed.
    """

    clock: str
    offset_s: float
    error_s: float | None
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Everything that was read.

    Attributes:
        end_s: the last moment of which anything is known: what is open lasts until then.
        basis: where most of it comes from.
        dated: times count from 1970.
    """

    slices: tuple[Slice, ...] = ()
    moments: tuple[Moment, ...] = ()
    clocks: tuple[ClockOffset, ...] = ()
    end_s: float = 0.0
    basis: ActivityBasis = ActivityBasis.LOG
    dated: bool = True
    problems: tuple[Problem, ...] = ()
