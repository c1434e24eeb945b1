"""What a benchmark of collectives measured. Durations in seconds, rates in bytes per second."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.comparison import Interval


class Speed(enum.Enum):
    """How a variant compares with the first one."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    MORE_RUNS = "more runs needed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """One operation at one size, of one variant.

    Attributes:
        variant: settings by name; empty = as they were.
        runs_s: of each run the median of its repeats, by the slowest rank.
        wrong: values that were not what they must be.
    """

    operation: str
    size_bytes: int
    variant: Mapping[str, str] = field(default_factory=dict)
    runs_s: tuple[float, ...]
    seconds: float
    algbw: float
    busbw: float
    wrong: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchComparison:
    """One variant against the first, over all operations and sizes.

    Attributes:
        ratio: of the rates, with its 95 % interval; above 1 is faster.
        runs_needed: of each variant, until a difference of 5 % would be seen; None where enough.
    """

    variant: Mapping[str, str]
    baseline: Mapping[str, str]
    answer: Speed
    ratio: Interval
    runs: int
    runs_needed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPair:
    """What two hosts, or two ranks of one host, give each other at the same time.

    Attributes:
        rate: bytes per second, each way; None where they could not.
    """

    one: str
    other: str
    rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """The JSON contract `unhang.bench/1`.

    Attributes:
        pairs: each of them, where they were asked for.
        problems: variants and groups that did not run, with what was said.
    """

    hosts: tuple[str, ...]
    world: int
    torch: str | None
    rows: tuple[BenchRow, ...]
    comparisons: tuple[BenchComparison, ...] = ()
    pairs: tuple[BenchPair, ...] = ()
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
