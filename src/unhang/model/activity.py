"""What each rank did over time, folded to columns that a page can show."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from unhang.model.ids import NO_RANKS, ManyRanks, Rank, RankSpans


class Activity(enum.Enum):
    """What a rank did for some time. The value names the colour on a page."""

    WORK = "work"
    WAIT = "wait"
    """In a call that was not done, or waiting for other ranks."""
    FAULT = "fault"
    """Stopped, frozen, gone, raising, or not moving although nobody keeps it waiting."""
    END = "end"
    """Its process had ended, as far as can be seen well."""


class ActivityBasis(enum.Enum):
    """Where times come from; names the sentence that explains gaps."""

    RUN = "run"
    """Samples of the live judge."""
    RECORDER = "recorder"
    """Entries of Flight Recorder dumps."""
    LOG = "log"
    """Printed times and durations."""


@dataclass(frozen=True, slots=True)
class ActivitySpan:
    """One rank did one thing from `begin_s` to `end_s`, on the clock of the whole map."""

    begin_s: float
    end_s: float
    activity: Activity


Strip = tuple[tuple[int, "Activity | None"], ...]
"""How many columns show what, in their order; None = nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityMap:
    """Ranks by time.

    Attributes:
        begin_s: of the first column: seconds since 1970, or of a clock without a date.
        width_s: seconds of a column.
        columns: how many.
        rows: ranks that show the same, with what they show; by their lowest rank.
        basis: where the times come from.
        dated: `begin_s` counts from 1970.
    """

    begin_s: float
    width_s: float
    columns: int
    rows: tuple[tuple[RankSpans, Strip], ...]
    basis: ActivityBasis
    dated: bool = True

    def fold(self, classes: Sequence[ManyRanks]) -> tuple[Strip, ...]:
        """Return one strip for each class: a fault of any of its ranks, else what most show."""
        return tuple(self._class(RankSpans.of(ranks)) for ranks in classes)

    def bands(self, most: int, others: ManyRanks = NO_RANKS) -> list[RankSpans]:
        """Return each rank, or as many neighbours together as make at most so many rows.

        `others` are ranks of the job of which nothing may be known.
        """
        known = RankSpans.of(others)
        for members, _ in self.rows:
            known |= members
        last = known.spans[-1][1]
        height = -(-last // most)
        return [RankSpans([(first, min(first + height, last))]) for first in range(0, last, height)]

    def _class(self, ranks: RankSpans) -> Strip:
        counts: list[dict[Activity, int]] = [{} for _ in range(self.columns)]
        for members, strip in self.rows:
            size, at = len(members & ranks), 0
            for length, activity in strip if size else ():
                if activity is not None:
                    for cell in counts[at : at + length]:
                        cell[activity] = cell.get(activity, 0) + size
                at += length
        return _strip(_shown(cell) for cell in counts)


def fold_spans(
    spans: Mapping[Rank, Iterable[ActivitySpan]],
    basis: ActivityBasis,
    *,
    columns: int = 160,
    dated: bool = True,
) -> ActivityMap | None:
    """Put the spans of all ranks on one axis; None where there are none.

    Each cell shows what took most of its time.
    """
    kept: dict[tuple[ActivitySpan, ...], list[Rank]] = {}  # ranks of the same spans are one
    for rank, told in spans.items():
        kept.setdefault(tuple(told), []).append(rank)
    edges = [edge for told in kept for s in told for edge in (s.begin_s, s.end_s)]
    if not edges or max(edges) <= min(edges):
        return None
    begin, width = min(edges), (max(edges) - min(edges)) / columns
    alike: dict[Strip, list[Rank]] = {}
    for told, ranks in kept.items():
        alike.setdefault(_painted(told, begin, width, columns), []).extend(ranks)
    rows = sorted(
        ((RankSpans.of(ranks), strip) for strip, ranks in alike.items()),
        key=lambda row: row[0].spans,
    )
    return ActivityMap(
        begin_s=begin, width_s=width, columns=columns, rows=tuple(rows), basis=basis, dated=dated
    )


def _painted(spans: Iterable[ActivitySpan], begin: float, width: float, columns: int) -> Strip:
    cells: list[dict[Activity, float]] = [{} for _ in range(columns)]
    for span in spans:
        first = min(int((span.begin_s - begin) / width), columns - 1)
        last = min(int((span.end_s - begin) / width), columns - 1)
        for column in range(first, last + 1):
            low, high = begin + column * width, begin + (column + 1) * width
            share = min(span.end_s, high) - max(span.begin_s, low)
            if share > 0:
                cell = cells[column]
                cell[span.activity] = cell.get(span.activity, 0.0) + share
    return _strip(max(cell, key=lambda a: cell[a]) if cell else None for cell in cells)


def _shown(cell: Mapping[Activity, int]) -> Activity | None:
    if Activity.FAULT in cell:
        return Activity.FAULT
    return max(cell, key=lambda activity: cell[activity]) if cell else None


def _strip(cells: Iterable[Activity | None]) -> Strip:
    return tuple((len(list(run)), activity) for activity, run in groupby(cells))
