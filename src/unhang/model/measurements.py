"""What a watched run measured of itself; durations in seconds, sizes in bytes.

Probes beat about once a second: what is shorter than a beat may be unseen, and a step that is much
shorter counts with the mean of its beat.
"""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.ids import Rank, Ranks
from unhang.model.phases import Phase

SCHEMA = "unhang.measured/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Optimizer steps of one rank, each from the end of the one before it.

    So what lies between two steps, such as a save, counts. Quantiles are exact to two percent.

    Attributes:
        count: steps whose times were seen.
        longest_s: the longest mean of a beat.
    """

    count: int
    median_s: float
    p99_s: float
    longest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTimes:
    """How long single ranks were in a phase, from entering it until they left it.

    Attributes:
        latest_s: the last durations, oldest first, at most 256.
    """

    phase: Phase
    count: int
    total_s: float
    longest_s: float
    latest_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSave:
    """What a rank stored while it was in the phase of saving.

    Attributes:
        at_s: epoch, when it was done.
    """

    at_s: float
    rank: Rank
    size_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSetting:
    """A setting as processes had it.

    Attributes:
        name: a variable of the environment; `torch`, `nccl`, `cuda` and `python` are versions, and
            `timeout` with the name of a group is the limit that the program asked for.
        value: as text.
        ranks: that had this value last.
    """

    name: str
    value: str
    ranks: Ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeasurements:
    """All of one run.

    Attributes:
        at_s: epoch of the last look.
        ranks: that were seen.
        world_size: of the job, or None.
        steps: of the lowest rank; None = its optimizer told of none.
        saves: the last ones, oldest first, at most 256.
    """

    at_s: float
    ranks: Ranks
    world_size: int | None = None
    steps: StepTimes | None = None
    phases: tuple[PhaseTimes, ...] = ()
    saves: tuple[MeasuredSave, ...] = ()
    settings: tuple[RankSetting, ...] = ()
