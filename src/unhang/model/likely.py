"""What is probable where nothing is proved: signs, and the cause that they make likely."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.causes import Cause
from unhang.model.finding import Collect
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One simple fact about a job.

    Attributes:
        kind: such as `end`; `value` such as `killed`.
        source: a line that shows it, or None.
        lines: that hold it, where it is a word.
    """

    kind: str
    value: str
    source: Provenance | None = None
    lines: int = 1

    @property
    def name(self) -> str:
        """What it is counted under."""
        return f"{self.kind}: {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedSign:
    """A sign, and how often it was seen in labelled jobs.

    Attributes:
        jobs: labelled jobs that show it; `with_cause` of them had the cause. Parts of a job count
            where its label names several causes.
    """

    sign: Sign
    jobs: float
    with_cause: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another cause, and its chance."""

    cause: Cause
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Likely:
    """The most probable cause where none is shown. It is no verdict, and nothing is built on it.

    Attributes:
        chance: how often a job with such signs had this cause, calibrated on labelled jobs.
        culprits: the ranks that it points to, as far as anything points to some.
        signs: what speaks for it, the most telling first.
        against: signs that speak rather for another cause, the most telling first.
        rivals: the next causes, the likeliest first.
        decides: what to collect, so that it is decided.
    """

    cause: Cause
    chance: float
    culprits: Ranks = NO_RANKS
    signs: tuple[CountedSign, ...]
    against: tuple[CountedSign, ...] = ()
    rivals: tuple[Rival, ...] = ()
    decides: Collect
