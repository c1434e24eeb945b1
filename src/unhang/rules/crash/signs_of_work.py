"""Whether a job still worked when it was stopped."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from unhang import lazy_re as re
from unhang.model.events import (
    CollectiveTimeout,
    ExceptionKind,
    PhaseMark,
    Progress,
    PythonException,
    StopSeen,
)
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing
from unhang.rules.shared import order

_COLLECTIVES = (
    "torch/distributed/distributed_c10d.py",
    "torch/distributed/_functional_collectives.py",
    "deepspeed/comm/torch.py",
    "torch/distributed/rendezvous.py",
)
_PAUSES = 4
"""Between steps; fewer tell no pace."""


def worked(incident: Incident, stop: StopSeen) -> bool:
    """Signs of work before the stop: two states of a bar, or two marks of steps or epochs."""
    bars = [p for p in incident.all(Progress) if order.is_before(p, stop) is not False]
    marks = [
        m
        for m in incident.all(PhaseMark)
        if m.phase in (Phase.TRAIN, Phase.EVAL) and order.is_before(m, stop) is not False
    ]
    return len(bars) > 1 or len(marks) > 1


def silent_s(incident: Incident, stop: StopSeen) -> float | None:
    """Seconds between the last sign of work and the stop; None where no times tell."""
    gaps = [g for p in incident.all(Progress) if (g := order.gap_s(stop, p)) is not None]
    return min(gaps, key=abs, default=None)


def keeps_pace(incident: Incident, stop: StopSeen) -> bool:
    """Whether steps came at their usual pace until the stop."""
    gaps = (order.gap_s(stop, p) for p in incident.all(Progress))
    ages = sorted({gap for gap in gaps if gap is not None and gap >= 0})
    pauses = [older - newer for newer, older in pairwise(ages)]
    return len(pauses) >= _PAUSES and ages[0] <= 2 * median(pauses)


def interrupted_in_wait(incident: Incident) -> bool:
    """Ctrl-C found a rank inside a collective: somebody may have ended a hang."""
    return any(
        e.kind is ExceptionKind.INTERRUPTED
        and any(f.file.endswith(_COLLECTIVES) for f in e.frames[-3:])
        for e in incident.all(PythonException)
    )


def stood_waiting(incident: Incident) -> bool:
    """Whether stacks show ranks waiting for others, and no other."""
    doing = {stance.doing for stance in incident.stances}
    return len(incident.stances) > 1 and doing == {Doing.WAITS}


_WAITS = re.compile(
    r"/(?:threading|queue|selectors|socket|subprocess|signal|asyncio/\w+|multiprocessing/\w+"
    r"|concurrent/futures/\w+)\.py$"
)


def interrupted_at_work(incident: Incident) -> bool:
    """Ctrl-C found ranks, and none of them in a wait of any kind."""
    found = [e for e in incident.all(PythonException) if e.kind is ExceptionKind.INTERRUPTED]
    ends = [e.frames[-1].file for e in found if e.frames]
    waits = any(_WAITS.search(file) or file.endswith(_COLLECTIVES) for file in ends)
    return bool(ends) and not waits and not interrupted_in_wait(incident)


def stuck_s(timeout: CollectiveTimeout, stop: StopSeen) -> float:
    """How long before the stop a rank had begun to wait in the call that timed out."""
    gap = order.gap_s(timeout, stop)
    waited = timeout.timeout_ms if timeout.elapsed_ms is None else timeout.elapsed_ms
    return 0.0 if gap is None or waited is None else waited / 1000 - gap
