"""Where a line of the kernel log lies, seen from the job: kernel logs hold weeks."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import KernelEvent
from unhang.model.events.lifecycle import state_of_work
from unhang.model.incident import Incident, Manner
from unhang.rules.shared import order, rivals

_LONG_BEFORE_S = 7_200.0
_OF_THE_GPU = frozenset({Manner.DEVICE, Manner.GPU_OOM})


def seconds_before_failure(incident: Incident, event: KernelEvent) -> float | None:
    """How long before the job's failure `event` was logged, if so long that it is another job's.

    A job may wait a whole timeout before it says that something is wrong.
    """
    signs: list[order.Placed] = [*incident.timeouts, *incident.failures]
    failed = order.earliest(s for s in signs if s.source != event.source)
    gap = None if failed is None else order.gap_s(failed, event)
    limits = [t.timeout_ms for t in incident.timeouts if t.timeout_ms is not None]
    patience = _LONG_BEFORE_S + max(limits, default=0) / 1_000
    return gap if gap is not None and gap > patience else None


def seconds_before_work(incident: Incident, event: KernelEvent) -> float | None:
    """How long before the job's first work `event` was logged, if so long as above.

    What befell the host that long before did not keep the job from its work.
    """
    first = order.earliest(e for e in incident.events if e.at and state_of_work(e) is not None)
    gap = None if first is None else order.gap_s(first, event)
    return gap if gap is not None and gap > _LONG_BEFORE_S else None


def is_undated(incident: Incident, found: Sequence[KernelEvent]) -> bool:
    """Whether a failure of the program stands beside it, in no order that clocks tell."""
    gone = rivals.lost_rank(incident, found, kin=_OF_THE_GPU)
    return gone is not None and order.gap_s(gone, found[0]) is None
