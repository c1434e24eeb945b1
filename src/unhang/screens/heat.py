"""From standings over time to a heatmap: who waited, when; thousands of ranks in a few rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from unhang.live.messages.job_snapshot import Condition, JobSnapshot, RankView

_GRAVITY = (
    Condition.GONE,
    Condition.FROZEN,
    Condition.STOPPED,
    Condition.RAISING,
    Condition.STILL,
    Condition.UNSEEN,
    Condition.LEFT,
    Condition.LEAVING,
)
"""The gravest first: one such rank colours its cell, however many others are well."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Some ranks over some time.

    Attributes:
        waiting: share of them that waited for others, 0 to 1; None where nothing was seen.
        condition: the gravest that was seen besides waiting and working, or None.
        phase: the one seen most often, "" where unknown.
    """

    waiting: float | None = None
    condition: Condition | None = None
    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The map; `cells[row][column]`.

    Attributes:
        rows: first and last rank of each row.
        columns: epoch at which each column begins.
        width_s: seconds of a column.
    """

    rows: tuple[tuple[int, int], ...] = ()
    columns: tuple[float, ...] = ()
    width_s: float = 1.0
    cells: tuple[tuple[Cell, ...], ...] = ()


def heat(standings: Sequence[JobSnapshot], *, rows: int = 64, columns: int = 120) -> Heat:
    """Fold standings into at most `rows` x `columns` cells."""
    ranks = [view.rank for standing in standings for view in standing.ranks]
    if not ranks:
        return Heat()
    height = -(-(max(ranks) + 1) // rows)
    first, last = standings[0].at_s, standings[-1].at_s
    width_s = max((last - first) / columns, 1.0)
    count = min(int((last - first) / width_s) + 1, columns)
    seen: dict[tuple[int, int], list[RankView]] = defaultdict(list)
    for standing in standings:
        column = min(int((standing.at_s - first) / width_s), count - 1)
        for view in standing.ranks:
            seen[view.rank // height, column].append(view)
    lines = max(ranks) // height + 1
    return Heat(
        rows=tuple((r * height, min((r + 1) * height - 1, max(ranks))) for r in range(lines)),
        columns=tuple(first + column * width_s for column in range(count)),
        width_s=width_s,
        cells=tuple(
            tuple(_cell(seen.get((row, column), [])) for column in range(count))
            for row in range(lines)
        ),
    )


def _cell(views: Sequence[RankView]) -> Cell:
    if not views:
        return Cell()
    conditions = {view.condition for view in views}
    phases = [view.phase.value for view in views if view.phase is not None]
    return Cell(
        waiting=sum(view.condition is Condition.WAITING for view in views) / len(views),
        condition=next((c for c in _GRAVITY if c in conditions), None),
        phase=max(set(phases), key=lambda phase: (phases.count(phase), phase)) if phases else "",
    )
