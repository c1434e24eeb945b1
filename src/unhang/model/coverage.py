"""Which ranks and sources we have, and which we should have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unhang.model.ids import NO_RANKS, ManyRanks, Ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What could be seen.

    Attributes:
        world_size: ranks of the job, or None.
        ranks_seen: ranks with at least one line of their own.
        ranks_silent: ranks below `world_size` without any; empty when the size is unknown.
        lines_dropped: lines that a launcher says it dropped: then absence proves nothing.
        sources: number of artifacts by kind.
    """

    world_size: int | None = None
    ranks_seen: Ranks = NO_RANKS
    ranks_silent: ManyRanks = NO_RANKS
    lines_dropped: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)
