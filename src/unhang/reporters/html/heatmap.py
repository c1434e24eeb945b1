"""From what ranks did over time to a drawing with axis and legend: by class, and by rank.

Every kind of activity is one path over all its cells, so that a large map is a few kilobytes.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from itertools import accumulate

from unhang.model.activity import Activity, ActivityMap, Strip
from unhang.model.ids import NO_RANKS, ManyRanks, RankSpans, format_ranks
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.html.frame import words
from unhang.reporters.html.markup import Html, join, tag

_MOST_ROWS = 64
_LABELS = 16
_TICKS = 5
_FINE_S = 4.0
"""Shorter maps have milliseconds on their axis."""


def by_class(found: ActivityMap, classes: Sequence[ManyRanks], language: str) -> Html:
    """The map with a row for each class of ranks; nothing where it would show what `by_rank` does.

    A class of which nothing was recorded is a row of gaps.
    """
    if len(classes) < 2 or all(len(ranks) == 1 for ranks in classes):
        return Html("")
    return _map(found, [RankSpans.of(ranks) for ranks in classes], "classes", language, tall=26)


def by_rank(found: ActivityMap, language: str, others: ManyRanks = NO_RANKS) -> Html:
    """The map with a row for each rank, or for as many neighbours as make 64 rows.

    Args:
        found: the map.
        language: of the axis.
        others: ranks that have a row although nothing was recorded of them.
    """
    bands = found.bands(_MOST_ROWS, others)
    tall = 18 if len(bands) <= 16 else 9
    return _map(found, bands, "ranks", language, tall=tall)


def legend(found: ActivityMap, language: str) -> Html:
    """What the colours say, and why there are gaps."""
    shown = {kind for _, strip in found.rows for _, kind in strip}
    names = [(f"h-{k.value}", activity_name(k, found, language)) for k in Activity if k in shown]
    names.append(("h-none", words(f"gap.{found.basis.value}", language)))
    items = [tag("li", tag("i", class_=kind), name) for kind, name in names]
    return tag("ul", items, class_="legend")


def _map(
    found: ActivityMap, rows: Sequence[RankSpans], name: str, language: str, *, tall: int
) -> Html:
    strips = found.fold(rows)
    columns, height = found.columns, len(rows)
    paths = [
        tag("path", d=path, class_=f"h-{kind.value}")
        for kind in Activity
        if (path := _path(strips, kind))
    ]
    labels = [_row_label(row) for row in rows]
    title = words(f"heat.{name}", language)
    drawing = tag(
        "svg",
        tag("title", title),
        paths,
        viewBox=f"0 0 {columns} {height}",
        preserveAspectRatio="none",
        height=height * tall,
        shape_rendering="crispEdges",
        role="img",
        tabindex="0",
        aria_label=title,
        aria_describedby=f"heat-{name}-at",
        data_cells=f"heat-{name}",
    )
    step = -(-height // _LABELS)
    told = [tag("span", text if place % step == 0 else "") for place, text in enumerate(labels)]
    data = {
        "rows": labels,
        "times": [time_at(found, column, language) for column in range(columns)],
        "cells": [[[length, _key(kind)] for length, kind in strip] for strip in strips],
        "names": {
            **{kind.value: activity_name(kind, found, language) for kind in Activity},
            "": words("unknown", language),
        },
    }
    at = [columns * n // (_TICKS - 1) for n in range(_TICKS)]
    ticks = [tag("span", time_at(found, column, language)) for column in at]
    return join(
        tag(
            "div",
            tag("div", told, class_="rows", aria_hidden="true"),
            drawing,
            tag("div", ticks, class_="axis"),
            class_="heat",
        ),
        tag("p", id=f"heat-{name}-at", class_="heat-at quiet small", aria_live="polite"),
        Html(
            f'<script type="application/json" id="heat-{name}">'
            + json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
            + "</script>"
        ),
    )


def _path(strips: Sequence[Strip], kind: Activity) -> str:
    parts = []
    for row, strip in enumerate(strips):
        begins = accumulate((length for length, _ in strip), initial=0)
        parts += [
            f"M{begin} {row}h{length}v1h-{length}z"
            for begin, (length, shown) in zip(begins, strip, strict=False)
            if shown is kind
        ]
    return "".join(parts)


def _row_label(row: RankSpans) -> str:
    text = format_ranks(row)
    return text if len(text) <= 24 else f"{text[:23]}…"


def _key(kind: Activity | None) -> str:
    return "" if kind is None else kind.value


def activity_name(kind: Activity, found: ActivityMap, language: str) -> str:
    """What one colour says."""
    key = f"activity.{kind.value}"
    return words(f"{key}_{found.basis.value}" if kind is not Activity.END else key, language)


def time_at(found: ActivityMap, column: int, language: str) -> str:
    """The time of day where the clock has one, else how long after the begin."""
    past = column * found.width_s
    if not found.dated:
        told = write(Message(key="page.since", values={"time": past}), language)
        return f"+{told}" if past else "0"
    try:
        moment = datetime.datetime.fromtimestamp(found.begin_s + past, datetime.timezone.utc)
    except (OverflowError, OSError, ValueError):
        return f"+{past:.0f} s"
    digits = found.width_s * found.columns < _FINE_S
    return moment.strftime("%H:%M:%S") + (f".{moment.microsecond // 1000:03d}" if digits else "")
