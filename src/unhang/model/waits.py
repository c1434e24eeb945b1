"""Who waits in which call for whom: a job at one moment, and what follows from it.

A `Snapshot` holds what witnesses know: logs, Flight Recorder dumps, stacks, counters of NCCL's RAS,
reports of probes. An `Analysis` is what the waits come to: the ranks at their ends, the cycles, the
calls that differ. Living and dead jobs are judged by the same two.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from unhang.model.ids import NO_RANKS, ManyRanks, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Provenance
from unhang.model.recording import CallKind, LastCall
from unhang.model.stack_states import Doing
from unhang.model.strength import Strength
from unhang.model.time import Instant


class WitnessKind(enum.Enum):
    """What tells of a wait. The value is the name in JSON."""

    LOG = "log"
    RECORDER = "recorder"
    STACK = "stack"
    RAS = "ras"
    REPORT = "report"
    """A probe in the process, and the kernel's facts beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitWitness:
    """What one witness tells of a wait.

    Attributes:
        weight: how far it carries that the awaited members have not issued the call.
        ranks: of which ranks it tells; empty = of all in the wait.
        last: a waiter's call as it was issued, or None.
        source: where that was read, or None.
    """

    kind: WitnessKind
    weight: Strength
    ranks: Ranks = NO_RANKS
    last: LastCall | None = None
    source: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRef:
    """One call of one group, as far as it is known.

    Attributes:
        group: name of the process group, or None where only stacks tell that somebody waits.
        description: of the group, such as `default_pg` or `mesh_tp`.
        seq: sequence number in the group; None for point-to-point operations.
        op: as the program called it (`all_reduce`).
        members: ranks of the group; empty = unknown.
    """

    group: str | None = None
    description: str = ""
    seq: int | None = None
    op: str | None = None
    members: ManyRanks = NO_RANKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Ranks that issued a call in one form.

    Attributes:
        kind: operation, sizes and types, as far as they must agree.
        last: the call of the first of them, or None.
        source: where that was read, or None.
    """

    kind: CallKind
    ranks: Ranks
    last: LastCall | None = None
    source: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A call that some members have issued and that does not complete.

    Silence is not absence: who has left no evidence is `unknown`, never `awaited`.

    Attributes:
        variants: the forms in which waiters issued it, the most frequent first; empty = one form.
        waiters: ranks that issued it and wait in it first of all.
        unnamed: how many more wait in it whose rank nobody tells.
        ahead: members that are done with it, and wait further on in the same group.
        awaited: members known not to have issued it.
        held: members that issued it behind another open call: they are awaited, too.
        unknown: members of which none of this can be told.
        waited_s: how long the waiter has waited that came first, or None.
        settled_s: likewise, the one that came last.
        limit_s: the shortest time limit in force, or None.
        witnesses: what tells of it, the strongest first.
    """

    call: CallRef
    variants: tuple[Variant, ...] = ()
    waiters: Ranks
    unnamed: int = 0
    ahead: Ranks = NO_RANKS
    awaited: Ranks = NO_RANKS
    held: Ranks = NO_RANKS
    unknown: ManyRanks = NO_RANKS
    waited_s: float | None = None
    settled_s: float | None = None
    limit_s: float | None = None
    witnesses: tuple[WaitWitness, ...] = ()

    @property
    def keeping(self) -> Ranks:
        """Ranks of which it is known that they keep the call from being done."""
        return self.awaited | self.held

    @property
    def held_up(self) -> Ranks:
        """All that wait in the group, here or further on."""
        return self.waiters | self.ahead if self.ahead else self.waiters

    @property
    def shown(self) -> LastCall | None:
        """A waiter's call as it was issued."""
        return next((t.last for t in self.witnesses if t.last is not None), None)

    @property
    def sources(self) -> tuple[Provenance, ...]:
        """Where it was read."""
        return tuple(t.source for t in self.witnesses if t.source is not None)


class Life(enum.Enum):
    """Whether the process of a rank lives. The value is the name in JSON."""

    ALIVE = "alive"
    STOPPED = "stopped"
    """By a signal or a debugger."""
    FROZEN = "frozen"
    """It lives, but nothing of it answers."""
    RAISED = "raised"
    """An exception ends it."""
    LEFT = "left"
    """It ended by itself, and well as far as can be seen."""
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """What some ranks do, beside the calls of the snapshot.

    Attributes:
        activity: of the main thread; `WAITS` = for others, in a call that is in no `Wait`.
        stalled: its first open call is done on other ranks: it does not get on by itself.
        since_s: how long it has been so, of the rank that has been so for the longest, or None.
        moved: it gets on; None = nothing tells.
    """

    ranks: Ranks
    activity: Doing | None = None
    phase: Phase | None = None
    life: Life | None = None
    stalled: bool = False
    since_s: float | None = None
    moved: bool | None = None


class Aspect(enum.Enum):
    """In what the forms of a call differ."""

    OPERATION = "operation"
    SIZE = "size"
    TYPE = "type"
    NUMBER = "number"
    """Ranks completed works that need a rank which still waits in the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Ranks of a group issued different calls under one number.

    Of the aspect `NUMBER`, the second variant are ranks that are past the call.

    Attributes:
        variants: the most frequent first; of a send and its receive the sender's first.
        odd: ranks outside the one that most issued; empty where nothing tells which that is.
        shift: the odd ranks' later calls are those that the others issued so many numbers later
            (positive: calls were left out; negative: there were more); 0 where neither fits.
        ended: the odd ranks' call is their last one and of a kind that no step holds: they may have
            left the loop that the others are in.
        by_rhythm: as many ranks issued the one as the other; which call was due earlier ones tell.
        later: the number in which those wait that are past the call, or None.
    """

    call: CallRef
    aspect: Aspect
    variants: tuple[Variant, ...]
    odd: Ranks = NO_RANKS
    shift: int = 0
    ended: bool = False
    by_rhythm: bool = False
    later: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two witnesses tell different things of some ranks.

    Attributes:
        waiting: who tells that they wait.
        elsewhere: who tells that others wait for them, and they for nobody.
    """

    ranks: Ranks
    waiting: WaitWitness
    elsewhere: WaitWitness


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A job at one moment, as far as it is known.

    Attributes:
        at: of the last witness, or None.
        spread_s: how far the moments of the witnesses lie apart, or None.
        world: all ranks that anything names.
        waits: one for each call: those of most waiters first, of logs those given up first.
        states: ranks that do the same, as one.
        mismatches: calls that were issued in different forms.
        contradictions: of witnesses that were merged.
    """

    at: Instant | None = None
    spread_s: float | None = None
    world: ManyRanks = NO_RANKS
    waits: tuple[Wait, ...] = ()
    states: tuple[RankState, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEnd:
    """A rank that others wait for and that waits for nobody.

    Attributes:
        lacks: the calls that it keeps from being done, those of most waiters first.
        chain: calls that lead there, from the farthest one to one of `lacks`.
    """

    rank: Rank
    lacks: tuple[Wait, ...]
    chain: tuple[Wait, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCycle:
    """Ranks that keep each other waiting.

    Attributes:
        ranks: in the cycle.
        few: those for whom the many wait in the call with most waiters, where they are fewer.
        leads_out: they also wait for ranks outside of it.
    """

    waits: tuple[Wait, ...]
    ranks: Ranks
    few: Ranks = NO_RANKS
    leads_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """What keeps a call from being done is not known.

    Attributes:
        ranks: unknown members that may be it; fewer where a call needs some of these and nobody
            else, and these explain all of the waits.
        lacking: witnesses that could tell, and have not told of these ranks.
    """

    waits: tuple[Wait, ...]
    ranks: ManyRanks
    lacking: tuple[WitnessKind, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What the waits of a snapshot come to.

    Attributes:
        held_up: ranks that wait for other ranks.
        ends: by rank.
        cycles: the one with most ranks first.
        together: calls that all members have issued, and that do not complete.
        undecided: waits that lead to unknown ranks and to nobody else; None = there are none.
    """

    snapshot: Snapshot
    held_up: Ranks = NO_RANKS
    ends: tuple[WaitEnd, ...] = ()
    cycles: tuple[WaitCycle, ...] = ()
    together: tuple[Wait, ...] = ()
    undecided: Undecided | None = None

    @property
    def waits(self) -> tuple[Wait, ...]:
        """The calls that do not complete, those of most waiters first."""
        return self.snapshot.waits

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """Calls that were issued in different forms."""
        return self.snapshot.mismatches

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What witnesses tell differently."""
        return self.snapshot.contradictions

    def wait_for(self, ranks: Ranks) -> Wait | None:
        """The call in which most wait for one of these ranks; else the one with most waiters."""
        for wait in self.waits:
            if wait.keeping & ranks or any(rank in wait.unknown for rank in ranks):
                return wait
        return next(iter(self.waits), None)


NO_WAITS = Analysis(snapshot=Snapshot())
"""Nobody waits, as far as is known."""


def ranks_of_ends(ends: Sequence[WaitEnd]) -> Ranks:
    """The ranks at some ends."""
    return frozenset(end.rank for end in ends)
