"""Which tensors a collective carries, as far as its sizes tell."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.ids import NO_RANKS, Ranks


class Layout(enum.Enum):
    """How the elements of a unit were laid out for one call."""

    FLAT = "flat"
    """FSDP1: one flat parameter, padded at its end."""
    ROWS = "rows"
    """FSDP2: every parameter padded to whole rows for each rank."""
    ONE = "one"
    """ZeRO-3, tensor parallelism or DDP: a single parameter."""
    FEATURES = "features"
    """One vector of the model's width for each sample or token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a collective carries.

    Attributes:
        models: those of which the sizes fit.
        tensors: `root`, `layer`, or the names of parameters that have this size.
        layout: how it is laid out.
        numel: elements before padding.
        formula: the sum that gives them, where it is short enough to read.
        group_size: ranks that the call runs over, where its sizes tell.
    """

    models: tuple[str, ...]
    tensors: tuple[str, ...]
    layout: Layout
    numel: int
    formula: str | None
    group_size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The sizes of a call as some ranks issued it, and what they tell.

    Attributes:
        ranks: those that issued it so; empty where nobody tells.
        readings: none where no model's tensors fit, or where a fit could be an accident.
    """

    op: str
    numel_in: int | None
    numel_out: int | None
    ranks: Ranks = NO_RANKS
    group_size: int | None = None
    readings: tuple[Reading, ...] = ()
