"""From samples of a run to what each rank was seen to do, from when to when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from unhang.live.messages.job_snapshot import Condition, JobSnapshot, RankView
from unhang.model.activity import Activity, ActivityBasis, ActivityMap, ActivitySpan, fold_spans
from unhang.model.ids import Rank
from unhang.model.trace import Slice, SliceKind

_GAPS = 3.0
"""Times the usual distance of samples: further apart, nothing is known of what lies between."""

ACTIVITIES = {
    Condition.WORKING: Activity.WORK,
    Condition.WAITING: Activity.WAIT,
    Condition.STILL: Activity.FAULT,
    Condition.FROZEN: Activity.FAULT,
    Condition.STOPPED: Activity.FAULT,
    Condition.RAISING: Activity.FAULT,
    Condition.GONE: Activity.FAULT,
    Condition.LEAVING: Activity.END,
    Condition.LEFT: Activity.END,
}
"""What a condition is on a heatmap; of who is not seen nothing is known."""


def activity_of(samples: Sequence[JobSnapshot], columns: int = 160) -> ActivityMap | None:
    """Return the heatmap of a run; None where nothing was sampled."""
    spans: dict[Rank, list[ActivitySpan]] = defaultdict(list)
    for one in slices_of(samples):
        if one.rank is not None and one.end_s is not None and one.activity is not None:
            spans[one.rank].append(ActivitySpan(one.begin_s, one.end_s, one.activity))
    return fold_spans(spans, ActivityBasis.RUN, columns=columns)


def slices_of(samples: Sequence[JobSnapshot]) -> list[Slice]:
    """Return one slice for each time that a rank did one thing."""
    distances = sorted(b.at_s - a.at_s for a, b in pairwise(samples))
    usual = distances[len(distances) // 2] if distances else 1.0
    under_way: dict[int, tuple[RankView, float, float]] = {}
    found: list[Slice] = []
    for sample in samples:
        for view in sample.ranks:
            before = under_way.get(view.rank)
            if before is not None:
                first, begin, last = before
                if sample.at_s - last <= _GAPS * max(usual, 1.0):
                    if _same(first, view):
                        under_way[view.rank] = (first, begin, sample.at_s)
                        continue
                    found.append(_slice(first, begin, sample.at_s))
                else:
                    found.append(_slice(first, begin, last + usual))
            under_way[view.rank] = (view, sample.at_s, sample.at_s)
    found += [_slice(view, begin, last + usual) for view, begin, last in under_way.values()]
    return found


def _same(one: RankView, other: RankView) -> bool:
    return (one.condition, one.phase, one.op, one.seq) == (
        *(other.condition, other.phase, other.op),
        other.seq,
    )


def _slice(view: RankView, begin: float, end: float) -> Slice:
    phase = "" if view.phase is None else view.phase.value
    call = " ".join(p for p in (view.op, None if view.seq is None else f"#{view.seq}") if p)
    name = " · ".join(part for part in (view.condition.value, call, phase) if part)
    details = {"place": view.place, "host": view.host, "exception": view.exception or ""}
    return Slice(
        process=f"rank {view.rank}",
        rank=view.rank,
        host=view.host,
        track="seen by the judge",
        name=name,
        kind=SliceKind.STATE,
        begin_s=begin,
        end_s=end,
        activity=ACTIVITIES.get(view.condition),
        details={key: value for key, value in details.items() if value},
    )
