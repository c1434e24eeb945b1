"""From the history of a run folder to slices: what each rank was seen to do, second by second."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from unhang.errors import ArtifactError
from unhang.live.messages.job_snapshot import Condition, JobSnapshot, RankView
from unhang.live.run_folder import history
from unhang.live.run_folder.layout import RunFolder
from unhang.model.activity import Activity
from unhang.model.trace import Moment, Slice, SliceKind

_MOST_LINE = 1 << 16
_MOST_EVENTS = 20_000
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


def read_run(folder: RunFolder, most: int = 2_000) -> tuple[list[Slice], list[Moment]]:
    """Return what ranks did and what happened, from at most `most` samples."""
    try:
        samples = list(history.spread(folder.history, most)) if folder.history.is_file() else []
    except ArtifactError:
        samples = []
    return slices_of(samples), list(_moments(folder.events))


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


def _moments(path: Path) -> Iterator[Moment]:
    try:
        with path.open("rb") as file:
            for _ in range(_MOST_EVENTS):
                line = file.readline(_MOST_LINE)
                if not line:
                    return
                moment = _moment(line)
                if moment is not None:
                    yield moment
    except OSError:
        return


def _moment(line: bytes) -> Moment | None:
    try:
        told = json.loads(line)
        at = datetime.datetime.fromisoformat(str(told["at"]).replace("Z", "+00:00"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if at.tzinfo is None or not isinstance(told.get("kind"), str):
        return None
    why = told.get("why")
    name = f"{told['kind']}: {why}" if isinstance(why, str) and why else told["kind"]
    return Moment(at_s=at.timestamp(), name=name[:400])
