"""The monitor's view of the whole job at one moment: for screens, for `standing.json`, for rules.

Durations count back from the moment of the view, so that they mean the same on every host.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.live.messages.losses import Loss
from unhang.model.events import Stage, SuspicionReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import CallRef, Snapshot

__all__ = [
    "SCHEMA",
    "Condition",
    "Edge",
    "GroupView",
    "HostView",
    "JobSnapshot",
    "RankClass",
    "RankView",
    "Stage",
    "Suspicion",
    "SuspicionReason",
]


SCHEMA = "unhang.standing/1"
"""Of `standing.json`."""


class Condition(enum.Enum):
    """How a rank is. The value is the name in JSON."""

    WORKING = "working"
    """CPU time, bytes, steps or its stack move; or too little is known to say otherwise."""
    WAITING = "waiting"
    """It waits for other ranks."""
    STILL = "still"
    """Nothing of it moves, and it waits for nobody that we know of."""
    FROZEN = "frozen"
    """The process lives, but its probe cannot beat: the interpreter lock is kept, or state D."""
    STOPPED = "stopped"
    """SIGSTOP, or a debugger."""
    RAISING = "raising"
    """An exception is ending it."""
    LEAVING = "leaving"
    """It has ended its program, and is on its way out."""
    LEFT = "left"
    """It ended by itself, and well as far as can be seen."""
    GONE = "gone"
    """The process vanished or failed."""
    UNSEEN = "unseen"
    """Its host has not reported for a while: nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankView:
    """One rank.

    Attributes:
        restart: which start of the job, counted from 0; None = unknown.
        since_s: how long it has been in this condition, phase and call.
        phase: what it does, or the phase in which it waits; None = unknown.
        op: the call it waits in, as the program calls it, or None.
        place: `function (file:line)` of the program's own code, "" where unknown.
        group: of the call that it waits in, or None.
        seq: of the call that it waits in, or None.
        cpu_share: of one core, between the last two reports.
        read_rate: bytes per second, likewise; files and sockets alike.
        write_rate: likewise.
        beat_age_s: since its probe was heard.
        exception: type and message of what ends it, or None.
        signal: that ended it, or None.
        exit_code: with which it ended, or None.
    """

    rank: Rank
    host: str
    pid: int
    local_rank: int | None = None
    restart: int | None = None
    condition: Condition
    since_s: float
    phase: Phase | None = None
    op: str | None = None
    place: str = ""
    group: str | None = None
    seq: int | None = None
    steps: int | None = None
    step_s: float | None = None
    cpu_share: float | None = None
    rss_bytes: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    read_rate: float | None = None
    write_rate: float | None = None
    gpu_bytes: int | None = None
    beat_age_s: float = 0.0
    exception: str | None = None
    signal: int | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankClass:
    """Ranks that do the same, seen as one.

    Attributes:
        since_s: of the one that has done it for the longest.
    """

    ranks: Ranks
    condition: Condition
    phase: Phase | None
    op: str | None
    place: str
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """One process group.

    Attributes:
        members: known ranks; empty = unknown.
        issued: smallest and largest number that a member has issued; None = unknown.
        completed: likewise, that a member has completed.
        waiting: members that have issued the call at which the group stands, and wait.
        lacking: members that have not issued it.
        since_s: how long it has stood; None = it moves, or nothing is open.
        timeout_ms: the shortest limit in force.
        user_timeout_ms: what the program asked for.
        governed_ms: what the judge has set, or None.
    """

    name: str
    description: str = ""
    backend: str | None = None
    members: Ranks = NO_RANKS
    issued: tuple[int, int] | None = None
    completed: tuple[int, int] | None = None
    waiting: Ranks = NO_RANKS
    lacking: Ranks = NO_RANKS
    since_s: float | None = None
    timeout_ms: int | None = None
    user_timeout_ms: int | None = None
    governed_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Some ranks wait for others, in one call.

    Attributes:
        since_s: of the one that has waited for the longest.
    """

    waiters: Ranks
    on: Ranks
    call: CallRef
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Who holds whom up, and how sure that is.

    Attributes:
        since_s: how long others have waited.
        still_s: how long the culprits have not moved; None = they move.
        by_name: only the name of a function of the program tells the phase.
        place: `function (file:line)` of the program's code where the first of them stands, or "".
        told: how the first of them ended (an exception, a signal), or "".
        move, due: a call with which they left their habit, and what always came next before it;
            without the latter a call that all others issued.
        why: one sentence.
    """

    culprits: Ranks
    victims: Ranks
    charge: SuspicionReason
    stage: Stage
    phase: Phase | None = None
    by_name: bool = False
    call: CallRef
    since_s: float
    still_s: float | None = None
    place: str = ""
    told: str = ""
    move: str = ""
    due: str = ""
    why: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """One node.

    Attributes:
        age_s: since its last report.
        ranks: that live there.
    """

    host: str
    age_s: float
    ranks: Ranks
    launcher_alive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSnapshot:
    """Everything at one moment.

    Attributes:
        at_s: epoch, of the clock of the host that reported last.
        up_s: since the first report.
        restart: the start of the job that is shown.
        began_s: epoch at which the first of its processes began, or None.
        ended_well: the command and all ranks of this start have ended with exit code 0, and nothing
            is held against anybody.
        suspicions: the gravest first.
        snapshot: who waits in which call for whom, and what the others do; of a job that has ended,
            what that was when somebody was held up last.
        lost: what could not be seen or done.
    """

    at_s: float
    up_s: float
    world_size: int | None = None
    restart: int | None = None
    began_s: float | None = None
    ended_well: bool = False
    ranks: tuple[RankView, ...] = ()
    classes: tuple[RankClass, ...] = ()
    groups: tuple[GroupView, ...] = ()
    edges: tuple[Edge, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    hosts: tuple[HostView, ...] = ()
    lost: tuple[Loss, ...] = ()
    snapshot: Snapshot | None = None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    """How long each phase usually lasts here, as far as it was learnt (95th percentile)."""
