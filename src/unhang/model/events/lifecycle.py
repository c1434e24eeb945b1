"""Events of the normal course: phases, progress, versions, settings, identity."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.ids import NO_RANKS, LocalRank, Rank, Ranks
from unhang.model.phases import Phase, PhaseEdge
from unhang.model.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseMark(Seen, fact=Fact.PHASES, witness=Witness.PROCESS, role=Role.PHASE):
    """A line that shows a phase. "Begin without end" is the phase proof.

    Attributes:
        detail: what is being done, shortened (`tokenizing`, a checkpoint path).
        framework: whose mark it is, or None.
        rank: the rank that the text itself names.
    """

    phase: Phase
    edge: PhaseEdge
    detail: str = ""
    framework: str | None = None
    rank: Rank | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Seen, fact=Fact.PHASES, witness=Witness.PROCESS, role=Role.WORK):
    """One state of a progress bar or step counter.

    Attributes:
        label: text before the bar, shortened; "" where there is none.
        done, total: counts; `total` None where unknown.
        elapsed_s, remaining_s: as the bar prints them.
        phase: what the label tells, or None.
        rank: the rank that the text itself names.
    """

    label: str
    done: int
    total: int | None = None
    elapsed_s: float | None = None
    remaining_s: float | None = None
    phase: Phase | None = None
    rank: Rank | None = None


def training_state(event: object) -> object:
    """What tells one state of training from another: a count, or a line of losses; None = no state.

    Ranks train in step: many states by anybody show that all were there. They evaluate, save and
    load each for itself, so that such work shows nothing of the others.
    """
    if isinstance(event, Progress) and event.phase is Phase.TRAIN:
        return event.done
    if isinstance(event, PhaseMark) and event.phase is Phase.TRAIN:
        return event.source.text if event.edge is PhaseEdge.DURING else None
    return None


def state_of_work(event: object) -> object:
    """What tells one state of any work from another; None where an event is none."""
    # A bar that begins anew in each epoch differs by its label alone.
    return (event.label, event.done) if isinstance(event, Progress) else training_state(event)


STATES_OF_WORK = 3
"""So many states after a fact show a job at work.

A buffer may hold one, and a step that was under way another.
"""
LONG_AT_WORK = 10
"""States of work after trouble, or after another start: fewer may have stood in a buffer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionSeen(Seen, fact=Fact.VERSIONS, witness=Witness.PROCESS, role=Role.SETUP):
    """A version of `torch`, `nccl`, `cuda`, `driver`, `python` or a framework."""

    component: str
    version: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkSeen(Seen, witness=Witness.PROCESS, role=Role.SETUP):
    """A mark of a framework. `basis` says which: a log mark, a package path, a command."""

    name: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSeen(Seen, witness=Witness.PROCESS, role=Role.SETUP):
    """A setting in force or asked for: an environment variable, a flag, a config key."""

    name: str
    value: str
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSeen(Seen, fact=Fact.ANNOUNCEMENTS, witness=Witness.PROCESS, role=Role.SETUP):
    """A line that tells who is who: world size, rank, local rank, host, pid, device.

    Attributes:
        local_world_size: ranks on each host.
        node_rank: place of the host that prints it among the hosts.
        bus_id: address of the GPU that the process computes on.
        listed: the line lists processes, and need not be printed by the one that it tells of.
    """

    world_size: int | None = None
    local_world_size: int | None = None
    node_rank: int | None = None
    rank: Rank | None = None
    local_rank: LocalRank | None = None
    host: str | None = None
    pid: int | None = None
    task: int | None = None
    bus_id: str | None = None
    listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadLine(Seen, witness=Witness.PROCESS, role=Role.REPORT, of_any_text=True):
    """A line that looks like a failure.

    Attributes:
        weight: how much it looks like one; of use only for comparing.
        read: a parser made something of it. Where no rule makes anything of that, it is quoted
            all the same.
    """

    weight: int
    read: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLine(Seen, witness=Witness.PROCESS, role=Role.REPORT, of_any_text=True):
    """The last line in which a process speaks of its own work, not of trouble.

    Attributes:
        waits_by_its_words: it says that it waits.
    """

    waits_by_its_words: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWork(Seen, fact=Fact.PHASES, witness=Witness.PROCESS, role=Role.REPORT, of_any_text=True):
    """What a process printed of its work since it last trained; the origin names it.

    `source` is its last line.

    Attributes:
        first: number of the first line.
        since: time of the first line.
        lines: how many there are.
        phase: what their words tell, or None.
        ended: the last line says that it is done.
        waits_by_its_words: the last line says that it waits.
        words: that the lines have.
        ranks: of the whole node that speaks, where it says so.
    """

    first: int
    since: Instant | None
    lines: int
    phase: Phase | None
    ended: bool
    waits_by_its_words: bool
    words: frozenset[str]
    ranks: Ranks = NO_RANKS


class LoopEnd(enum.Enum):
    """What a rank says that it has left."""

    TRAINING = "training"
    """The training as a whole: it stops, or has returned from it."""
    EPOCH = "epoch"
    """A pass over its data, which have come to their end."""
    VALIDATION = "validation"
    """It goes over to the validation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLeft(Seen, fact=Fact.PHASES, witness=Witness.PROCESS, role=Role.REPORT):
    """A rank says that its own loop of steps has ended; the origin names the rank.

    Attributes:
        end: what it has left.
        detail: its words, shortened.
    """

    end: LoopEnd
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsPlanned(Seen, fact=Fact.PHASES, witness=Witness.PROCESS, role=Role.SETUP):
    """A rank says how many steps or batches it has; the origin names the rank.

    Attributes:
        count: so many.
        words: the line without its numbers; only counts in the same words can be compared.
    """

    count: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDiffers(Seen, witness=Witness.PROCESS, role=Role.REPORT):
    """All ranks printed a line of the same thing; most the same one, a few another one.

    Attributes:
        ranks: the few.
    """

    ranks: Ranks


class ApartKind(enum.Enum):
    """In what way ranks are not where the others are."""

    ENDED = "ended"
    """They say that their loop or their data are at an end, which no other says."""
    PASSED = "passed"
    """They went on from where all others stand, with words of their own, or left something out."""
    DIFFERENT = "different"
    """Their model is not that of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksApart(Seen, fact=Fact.PHASES, witness=Witness.PROCESS, role=Role.REPORT):
    """All that the ranks said, side by side: a few are not where the others are.

    Attributes:
        ranks: who is apart; the origin names the first of them.
        others: who said as much as those, and is not.
        totals: the least and the most of what ranks count alike, where those apart had less.
        stood: something shows that time went by since.
        detail: the last words of who is apart, shortened.
    """

    kind: ApartKind
    ranks: Ranks
    others: Ranks
    totals: tuple[int, int] | None = None
    stood: bool = False
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesDropped(Seen, witness=Witness.LAUNCHER, role=Role.REPORT):
    """A launcher dropped lines of other ranks: absence proves nothing."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSeen(Seen, fact=Fact.STACKS, witness=Witness.STACK, role=Role.REPORT):
    """A line of a live stack: where the Python code of a rank stands.

    Attributes:
        frame: `file:function` of the deciding frame.
        phase: what it means, or None.
        waiting: the frame is a collective's wait.
    """

    frame: str
    phase: Phase | None = None
    waiting: bool = False

    @property
    def waits(self) -> bool:
        """Whether the rank stands in a collective's wait."""
        return self.waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTried(Seen, fact=Fact.TRIALS, witness=Witness.PROCESS, role=Role.REPORT):
    """Somebody ran the job with a setting, and it did not hang.

    Attributes:
        name, value: the setting that makes the difference.
        measured: the log shows both runs of one command; otherwise words say so.
    """

    name: str
    value: str
    measured: bool
