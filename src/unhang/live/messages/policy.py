"""What the user of `unhang run` wants: whose time limits hold, and what a confirmed hang brings."""

from __future__ import annotations

from dataclasses import dataclass

JUDGE_LIMIT_MS = 24 * 3_600 * 1_000
"""The limit of all groups while the judge watches: no watchdog forestalls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The user's wishes.

    Attributes:
        timeouts: `keep`, `judge` or `fixed`.
        limit_ms: of `fixed`.
        abort: end the job on a confirmed hang.
        patience_s: how long ranks without a sign of life are left alone; None = as it costs.
    """

    timeouts: str = "keep"
    limit_ms: int | None = None
    abort: bool = False
    patience_s: float | None = None
