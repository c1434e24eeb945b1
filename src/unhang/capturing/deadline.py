"""When the job is about to be ended: what a capture does first, and whom it looks at closely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unhang.model.ids import Ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """Somebody waits to end the job until a capture needs its processes no more.

    Probes have already told where each rank stands and for how long: one look at each is enough,
    and native frames matter only for suspects.

    Attributes:
        release: called once, from the thread of the capture: the job may end, the capture goes on.
        suspects: ranks whose native frames are read; None = those of all.
        limit_s: seconds after which `release` is called at the latest.
    """

    release: Callable[[], None]
    suspects: Ranks | None = None
    limit_s: float = 6.0
