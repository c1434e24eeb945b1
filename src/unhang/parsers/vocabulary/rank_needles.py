"""What every line has that names a rank, in the common ways of writing it."""

from __future__ import annotations

NEEDLES: tuple[str, ...] = (
    *("rank ", "Rank ", "RANK ", "rank=", "RANK=", "rank: "),
    # TP: servers sign by the place in the tensor-parallel group
    *(f"{word}{digit}" for word in ("rank", "RANK", "Rank", "TP") for digit in range(10)),
)

SHORT: tuple[str, ...] = (
    *(f"{sign}{digit}" for sign in ("[r", " r", "(r", "[p", "[", " R") for digit in range(10)),
    *("[device ", "[gpu ", "[GPU ", "[proc "),
)
"""What short marks have: `[r3]`, `[06-11 20:14:02 r0]`, `judge[2]`."""
