"""What the judging node tells the others, over any transport; numbers only ever rise.

A node does what is new: an order of dumps or a capture with a higher number than it has served, an
end of the job with another mark than it has seen. So a lost or repeated message does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unhang.live.messages.actions import SetTimeouts
from unhang.live.messages.reports import Json
from unhang.live.messages.request import FIXED, JUDGE, KEEP

_MOST_INTERVAL_S = 30.0
_KEPT = SetTimeouts(mode=KEEP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """The present state of what is asked for.

    Attributes:
        beat: counts on while the judge lives.
        interval_s: time between two reports of a node.
        dump: number of the last order of dumps; 0 = none yet.
        capture: number of the dumps of the last confirmed hang; 0 = none yet.
        abort: mark of the last wish to end the job, "" = none yet.
    """

    beat: int
    interval_s: float = 1.0
    dump: int = 0
    capture: int = 0
    abort: str = ""
    timeouts: SetTimeouts = _KEPT

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "beat": self.beat,
            "interval_s": self.interval_s,
            "dump": self.dump,
            "capture": self.capture,
            "abort": self.abort,
            "timeouts": {"mode": self.timeouts.mode, "limit_ms": self.timeouts.limit_ms},
        }

    @classmethod
    def from_json(cls, data: object) -> Instructions | None:
        """The inverse; None for anything else."""
        if not isinstance(data, dict):
            return None
        numbers = [data.get(name) for name in ("beat", "dump", "capture")]
        interval_s, abort = data.get("interval_s"), data.get("abort")
        if not all(isinstance(n, int) for n in numbers) or not isinstance(abort, str):
            return None
        if not isinstance(interval_s, int | float) or not 0 < interval_s <= _MOST_INTERVAL_S:
            return None
        timeouts = _timeouts(data.get("timeouts"))
        if timeouts is None:
            return None
        return cls(
            beat=data["beat"],
            interval_s=float(interval_s),
            dump=data["dump"],
            capture=data["capture"],
            abort=abort,
            timeouts=timeouts,
        )


def _timeouts(data: object) -> SetTimeouts | None:
    item: Json = data if isinstance(data, dict) else {}
    mode, limit_ms = item.get("mode"), item.get("limit_ms")
    if mode not in (KEEP, JUDGE, FIXED) or not isinstance(limit_ms, int | None):
        return None
    return SetTimeouts(mode=str(mode), limit_ms=limit_ms)
