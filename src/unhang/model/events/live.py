"""What the live judge said of a job while it ran."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.phases import Phase
from unhang.model.waits import Snapshot


class SuspicionReason(enum.Enum):
    """What is held against ranks that hold others up. The value is the name in JSON."""

    GONE = "gone"
    RAISED = "raised"
    LEFT = "left"
    """It has ended its program while others still wait for it."""
    STOPPED = "stopped"
    GIL_KEPT = "gil-kept"
    """The process lives, but its interpreter lock is never free."""
    UNINTERRUPTIBLE = "uninterruptible"
    """The kernel waits for a device, most often storage."""
    SILENT = "silent"
    """Its probe does not beat, and nothing tells why."""
    ASLEEP = "asleep"
    """No CPU, no bytes, no steps: it waits for something that is no rank of its group."""
    SPINNING = "spinning"
    """It computes at one line of the program, without a step; whether for ever nobody can see."""
    MISMATCH = "mismatch"
    """It waits in another call than the others of its group."""
    CIRCLE = "circle"
    """Ranks wait for each other in calls of several groups."""
    TOGETHER = "together"
    """All members wait in the same call, and it does not complete."""
    NEVER_CAME = "never-came"
    """Nothing is seen of a rank of the world for which others wait."""
    AT_WORK = "at-work"
    """It works, and others wait: no hang."""


class Stage(enum.Enum):
    """How sure the live judge was. The value is the name in JSON."""

    WATCHED = "watched"
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldUp(Seen, fact=Fact.LIVE, witness=Witness.JUDGE, role=Role.REPORT):
    """Ranks held others up, as the live judge saw it last.

    Attributes:
        culprits: may be empty where all wait for each other.
        by_name: only the name of a function of the program told the phase.
        group, seq: of the call that the victims wait in.
        op: as the program calls it.
        waited_s: how long the victims had waited.
        still_s: how long the culprits had not moved; None = they moved.
        place: `function (file:line)` of the program's code where the first culprit stood, or "".
        told: how the first culprit ended (an exception, a signal), or "".
        move, due: a call with which the culprits left their habit, and what always came next
            before it; without the latter a call that all others issued.
    """

    charge: SuspicionReason
    stage: Stage
    culprits: Ranks = NO_RANKS
    victims: Ranks = NO_RANKS
    phase: Phase | None = None
    by_name: bool = False
    group: str | None = None
    seq: int | None = None
    op: str | None = None
    waited_s: float = 0.0
    still_s: float | None = None
    place: str = ""
    told: str = ""
    move: str = ""
    due: str = ""

    @property
    def stays(self) -> bool:
        """Their program is through and their processes stay; nobody waits for them in a call."""
        in_call = self.op is not None or self.group is not None
        return self.charge is SuspicionReason.LEFT and self.still_s is not None and not in_call


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitsSeen(Seen, fact=Fact.LIVE, witness=Witness.JUDGE, role=Role.REPORT):
    """Who waited in which call for whom, when the live judge last saw somebody held up."""

    snapshot: Snapshot
