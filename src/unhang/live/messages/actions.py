"""What the monitor asks of the agent: notes for the run record, dumps, captures, an end.

The agent does them in the order in which they come. An action is a wish: where it cannot be
fulfilled (a full disk, a process without a probe) the agent notes what was lost and goes on.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import CallRef, Snapshot


class NoteKind(enum.Enum):
    """What happened. The value is `kind` in `events.jsonl`."""

    ATTACHED = "attached"
    """A training process was seen for the first time."""
    PHASE = "phase"
    """Ranks entered another phase."""
    WAITING = "waiting"
    """Ranks wait for one that is at work, for longer than is usual there."""
    STALL_SUSPECTED = "stall_suspected"
    HANG_CONFIRMED = "hang_confirmed"
    TIMEOUT_GOVERNED = "timeout_governed"
    CAPTURED = "captured"
    """The agent put everything into a bundle."""
    RESUMED = "resumed"
    """What was waited for, suspected or confirmed moves on."""
    ABORTED = "aborted"
    """The agent ended the job."""
    EXITED = "exited"
    """A process, or the whole job, ended."""
    LOST = "lost"
    """What could not be seen or done."""
    NOTIFIED = "notified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A line for `events.jsonl`.

    Attributes:
        ranks: whom it is about where nobody is to blame (`attached`, `phase`, `exited`).
        culprits: the ranks that hold the others up.
        since_s: how long the fact had lasted, in seconds.
        why: one sentence.
        against: what speaks against a hang.
        cost: what an end of the job costs now.
        patience_s: how long the culprits may show no life before the job is ended; None = it is
            proved, or no hang.
        unsaved_s: work since the last checkpoint that was seen.
        snapshot: who waited in which call for whom then, where something is held against ranks.
    """

    kind: NoteKind
    ranks: Ranks = NO_RANKS
    culprits: Ranks = NO_RANKS
    phase: Phase | None = None
    call: CallRef | None = None
    since_s: float | None = None
    why: Message
    against: tuple[Message, ...] = ()
    cost: Message | None = None
    patience_s: float | None = None
    unsaved_s: float | None = None
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDump:
    """Let all probes dump the Flight Recorder and all stacks into `dumps/<number>/`.

    The agent diagnoses the run folder when they are there, or when it has waited long enough, and
    answers with `DumpsReady` of the same number.
    """

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A hang is confirmed: put everything into one bundle, with the dumps of that number.

    Attributes:
        dump: number of the order whose dumps belong in it; the order came before this action.
    """

    dump: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Tell the people who asked to be told; never waited for.

    Of a suspicion they are told at once, of a hang with its verdict.
    """

    note: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Abort:
    """End the job, once the capture needs it no more, so that the launcher may start it again."""

    note: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimeouts:
    """Let the probes govern the limits of all process groups.

    Attributes:
        mode: `keep` puts the limits of the program back; `judge` and `fixed` set `limit_ms`.
    """

    mode: str
    limit_ms: int | None = None


Action = Note | OrderDump | Capture | Notify | Abort | SetTimeouts
"""Everything that a monitor may ask for."""
