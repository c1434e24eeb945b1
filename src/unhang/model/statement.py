"""What one kind of source says for or against a verdict."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.provenance import Message, Provenance


class Source(enum.Enum):
    """Kinds of sources that were made independently of each other."""

    LOGS = "logs"
    DUMPS = "dumps"
    STACKS = "stacks"
    RAS = "ras"
    KERNEL = "kernel"
    HOSTS = "hosts"
    """nvidia-smi, ibstat and their like."""
    WATCH = "watch"
    """`unhang run`, which watched the processes while the job ran."""
    MEASUREMENTS = "measurements"
    """nccl-tests, NCCL Inspector."""


class Bearing(enum.Enum):
    """How what a source says stands to the verdict."""

    PROVES = "proves"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    """It names other ranks as those that hold the job up."""
    ADDS = "adds"
    """It names nobody, or the verdict names nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of a rule that rests on one kind of source.

    Attributes:
        ranks: whom it names.
        against: what speaks against it, or None.
    """

    source: Source
    bearing: Bearing
    rule: str
    claim: Message
    ranks: Ranks = NO_RANKS
    against: Message | None = None
    evidence: tuple[Provenance, ...] = ()
