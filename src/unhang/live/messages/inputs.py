"""What the monitor is told: reports of nodes, what dumps showed, the end of the output, time."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.live.messages.reports import NodeReport
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.model.finding import Strength
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpsReady:
    """What the rules say of the dumps, stacks and output of one moment.

    Attributes:
        number: of the order.
        ranks: those that left a dump or a stack.
        cause: of the verdict, or None where it is located at best.
        strength: of the cause, or of what located the ranks; None = the rules say nothing.
        culprits: ranks that the verdict names.
        summary: its sentence.
        fired: codes of the rules that said something.
    """

    number: int
    ranks: Ranks = NO_RANKS
    cause: Cause | None = None
    strength: Strength | None = None
    culprits: Ranks = NO_RANKS
    phase: Phase | None = None
    summary: Message | None = None
    fired: tuple[str, ...] = ()

    @classmethod
    def of(cls, number: int, diagnosis: Diagnosis) -> DumpsReady:
        """What the monitor needs of a diagnosis."""
        located = diagnosis.located
        strength = diagnosis.strength
        if strength is None and located is not None:
            strength = located.strength
        return cls(
            number=number,
            ranks=diagnosis.coverage.ranks_seen,
            cause=diagnosis.cause,
            strength=strength,
            culprits=diagnosis.culprits,
            phase=diagnosis.phase,
            summary=diagnosis.summary,
            fired=diagnosis.fired,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEnded:
    """The command that `unhang run` started has ended, and its output with it.

    Attributes:
        exit_code: as a shell counts: 128 + n for signal n; None = unknown.
    """

    host: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes, and nothing was heard."""


Input = NodeReport | DumpsReady | OutputEnded | Tick
"""Everything that a monitor may be told."""
