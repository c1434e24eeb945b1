"""What the Flight Recorder dumps of a job show together."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.provenance import Provenance
from unhang.model.recording import LastCall, Recording
from unhang.model.waits import NO_WAITS, Analysis


class SuspectRole(enum.Enum):
    """Why others wait for a rank that waits for nobody."""

    ABSENT = "absent"
    """It has not issued the call, and no call of its own is open."""
    STALLED = "stalled"
    """Its first open call is done on other ranks: it does not get on by itself."""
    SILENT = "silent"
    """It left no dump, or an unreadable one."""
    AHEAD = "ahead"
    """It issued a call that none of the many others has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A rank that holds others up.

    Attributes:
        behind: how many calls it lacks of the one that others wait in, or None.
        last: its last call, or None.
        idle_s: how much earlier its last call is than the last one of any rank, or None.
        rested_s: how long before its dump its last call was, where the dump's time is known.
    """

    rank: Rank
    role: SuspectRole
    behind: int | None = None
    last: LastCall | None = None
    idle_s: float | None = None
    rested_s: float | None = None
    source: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderAnalysis:
    """What all dumps of a job tell together.

    Attributes:
        recordings: one for each rank.
        analysis: who waits in which call for whom.
        suspects: ranks that hold others up, by rank; none where the dumps were taken of ranks that
            had only just issued their calls.
        cycle: ranks that wait for each other, and had rested for long.
        cycle_odd: the few of them whose calls came in an order that is usual for nobody.
    """

    recordings: Mapping[Rank, Recording] = field(default_factory=dict)
    analysis: Analysis = NO_WAITS
    suspects: tuple[Suspect, ...] = ()
    cycle: Ranks = NO_RANKS
    cycle_odd: Ranks = NO_RANKS

    @property
    def held_up(self) -> Ranks:
        """Ranks that wait for others, and are no suspects themselves."""
        return self.analysis.held_up - {suspect.rank for suspect in self.suspects}
