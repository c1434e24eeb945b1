"""What every line has that names a rank, in the common ways of writing it."""

from __future__ import annotations

NEEDLES: tuple[str, ...] = (
    *("rank ", "Rank ", "RANK ", "rank=", "RANK=", "rank: "),
    *(f"{word}{digit}" for word in ("rank", "RANK", "Rank") for digit in range(10)),
)
