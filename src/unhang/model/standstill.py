"""Where a job stands, as the Flight Recorder dumps of its ranks show it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Call
from unhang.model.provenance import Provenance
from unhang.model.recording import CallKind, LastCall, Recording


class Role(enum.Enum):
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
    role: Role
    behind: int | None = None
    last: LastCall | None = None
    idle_s: float | None = None
    rested_s: float | None = None
    source: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A call that some ranks of a group have issued and that cannot complete.

    Attributes:
        op: None where it was not kept.
        waiters: ranks that wait in it first of all.
        lacking: members that have not issued it; `held` issued it behind another open call.
        silent: members without a dump that tells.
        shown: one waiter's call.
    """

    group: str
    description: str
    seq: int | None
    op: str | None
    members: Ranks
    waiters: Ranks
    lacking: Ranks = NO_RANKS
    held: Ranks = NO_RANKS
    silent: Ranks = NO_RANKS
    shown: LastCall | None = None
    call: Call
    source: Provenance


class Aspect(enum.Enum):
    """In what calls under one number differ."""

    OPERATION = "operation"
    SIZE = "size"
    TYPE = "type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Camp:
    """Ranks that issued the same."""

    kind: CallKind
    ranks: Ranks
    shown: LastCall | None
    source: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Ranks of a group issued different calls under one number.

    Attributes:
        seq: None for a send and its receive, which have no common number.
        camps: the largest first; of a send and its receive the sender's first.
        odd: ranks outside the one largest camp; empty where there is none.
        shift: the odd ranks' later calls are those that the others issued so many numbers later
            (positive: calls were left out; negative: there were more); 0 where neither fits.
        ended: the odd ranks' call is their last one and of a kind that no step holds: they had
            left the loop that the others are in.
    """

    group: str
    description: str
    seq: int | None
    aspect: Aspect
    camps: tuple[Camp, ...]
    odd: Ranks
    shift: int = 0
    ended: bool = False
    call: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """What all dumps of a job tell together.

    Attributes:
        recordings: one for each rank.
        world: all ranks that a dump, or a list of members in one, names.
        silent: ranks without a dump.
        suspects: ranks that others wait for and that wait for nobody, by rank.
        waits: calls that cannot complete, those that wait for a suspect first.
        waiting: ranks that wait for others.
        circle: ranks that wait for each other, and for no suspect.
        circle_odd: the few of them for whom the many wait in one call.
        together: a call that all its members have issued and that still does not complete.
        differences: calls that differ between ranks.
    """

    recordings: Mapping[Rank, Recording] = field(default_factory=dict)
    world: Ranks = NO_RANKS
    silent: Ranks = NO_RANKS
    suspects: tuple[Suspect, ...] = ()
    waits: tuple[Wait, ...] = ()
    waiting: Ranks = NO_RANKS
    circle: Ranks = NO_RANKS
    circle_odd: Ranks = NO_RANKS
    together: Wait | None = None
    differences: tuple[Difference, ...] = ()
