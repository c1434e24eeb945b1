"""A comparison of two sets of runs as one self-contained page, with a picture of both rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from unhang.model.comparison import Answer, Comparison, Interval
from unhang.reporters.catalogue.by_text import told
from unhang.reporters.html.frame import Section, page
from unhang.reporters.html.markup import Html, prose, table, tag

_TONES = {
    Answer.BETTER: "healthy",
    Answer.WORSE: "cause",
    Answer.NO_DIFFERENCE: "undetermined",
    Answer.TOO_FEW: "undetermined",
}
_WIDE, _ROW, _LEFT, _RIGHT = 480, 34, 70, 30

Words = Callable[..., str]
"""A sentence of the comparison by its key and values."""


def compare_page(
    comparison: Comparison,
    words: Words,
    *,
    sentences: Sequence[str],
    rows: Iterable[tuple[str, str, str]],
    settings: Iterable[str],
    axis_end: float,
    language: str,
) -> str:
    """Return the document.

    Args:
        comparison: what is shown.
        words: writes words of the comparison.
        sentences: the answer first, then what it rests on.
        rows: a label, and the figure of each side.
        settings: what is said of settings that differ.
        axis_end: the highest rate of the picture.
        language: of the page's own words.
    """
    columns = ("", words("column_before"), words("column_after"))
    changes = [tag("li", prose(text)) for text in settings]
    problems = [tag("li", told(p, language)) for p in comparison.problems]
    head = tag(
        "section",
        tag("h1", sentences[0]),
        [tag("p", prose(text)) for text in sentences[1:]],
        _picture(comparison, words, axis_end),
        class_=f"verdict {_TONES[comparison.answer]}",
    )
    sections = [
        Section(name="figures", title=words("title_figures"), body=table(columns, rows)),
        Section(
            name="settings",
            title=words("title_settings"),
            body=tag("ul", changes) if changes else None,
        ),
        Section(
            name="problems",
            title=words("title_problems"),
            body=tag("ul", problems) if problems else None,
        ),
    ]
    return page(f"{sentences[0]} · unhang compare", head, sections, language)


def _picture(comparison: Comparison, words: Words, most: float) -> Html | None:
    """Both rates with their intervals on one axis from 0."""
    by_hours = comparison.by == "hours"
    sides = [
        side.per_hour if by_hours else side.per_start
        for side in (comparison.before, comparison.after)
    ]
    found = [interval for interval in sides if interval is not None]
    if len(found) != len(sides) or most <= 0:
        return None
    names = (words("column_before"), words("column_after"))
    parts = [
        _bar(name, interval, most, number * _ROW + _ROW / 2)
        for number, (name, interval) in enumerate(zip(names, found, strict=True))
    ]
    height = _ROW * (len(found) + 1)
    axis = height - _ROW + 4
    unit = words("per_hour" if by_hours else "per_start")
    parts.append(
        tag(
            "g",
            tag("line", x1=_LEFT, x2=_WIDE - _RIGHT, y1=axis, y2=axis, stroke="currentColor"),
            tag("text", "0", x=_LEFT, y=axis + 16),
            tag("text", f"{most:.3g}", x=_WIDE - _RIGHT, y=axis + 16, text_anchor="end"),
        )
    )  # fmt: skip
    label = words("picture", unit=unit).rstrip(":：")
    picture = tag(
        "svg", tag("title", label), parts, viewBox=f"0 0 {_WIDE} {height + 6}", width="100%",
        role="img", aria_label=label,
    )  # fmt: skip
    return tag("figure", tag("figcaption", label), picture, class_="bars")


def _bar(name: str, interval: Interval, most: float, y: float) -> Html:
    def x(value: float) -> float:
        return round(_LEFT + (_WIDE - _LEFT - _RIGHT) * min(value, most) / most, 1)

    low, high = x(interval.low), x(interval.high)
    return tag(
        "g",
        tag("text", name, x=0, y=y + 4),
        tag("line", x1=low, x2=high, y1=y, y2=y, stroke="currentColor", stroke_width=2),
        tag("line", x1=low, x2=low, y1=y - 6, y2=y + 6, stroke="currentColor"),
        tag("line", x1=high, x2=high, y1=y - 6, y2=y + 6, stroke="currentColor"),
        tag("circle", cx=x(interval.estimate), cy=y, r=5, fill="currentColor"),
    )
