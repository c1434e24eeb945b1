"""From a comparison of two sets of runs to text: for a terminal, Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from unhang.model.comparison import (
    Answer,
    Comparison,
    Interval,
    SettingChange,
    Side,
)
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.catalogue.by_text import told
from unhang.reporters.fields import fields, plain
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.style import BRIGHT_GREEN, PLAIN, RED, YELLOW, Style
from unhang.reporters.tables import table

SCHEMA = "unhang.compare/1"
FORMS = ("terminal", "json", "markdown", "html")
"""The forms of a comparison."""

_COLORS = {
    Answer.BETTER: BRIGHT_GREEN,
    Answer.WORSE: RED,
    Answer.NO_DIFFERENCE: YELLOW,
    Answer.TOO_FEW: YELLOW,
}
_AXIS = 60
"""Columns of the picture."""
_MOST_PLACES, _MOST_SIZES = 4, 3
_ANSWERS = {
    Answer.BETTER: "compare.better",
    Answer.WORSE: "compare.worse",
    Answer.NO_DIFFERENCE: "compare.no_difference",
    Answer.TOO_FEW: "compare.too_few",
}


def render_comparison(comparison: Comparison, form: str, style: Style = PLAIN) -> str:
    """Return the comparison in one of the forms, without a line end."""
    comparison = public(comparison, form)
    if form == "json":
        return dumps(_as_dict(comparison, style.language))
    if form == "html":
        return _html(comparison, style.language)
    return "\n".join(_lines(comparison, style, markdown=form == "markdown"))


def _html(comparison: Comparison, language: str) -> str:
    from unhang.reporters.html.compare_page import compare_page

    return compare_page(
        comparison,
        partial(_words, language),
        sentences=tuple(_sentences(comparison, language)),
        rows=_shown_rows(comparison, language),
        settings=[t for change in comparison.settings for t in _tell_change(change, language)],
        axis_end=_axis_end(_intervals(comparison)),
        language=language,
    )


def _words(language: str, key: str, **values: object) -> str:
    return one_line(write(Message(key=f"compare.{key}", values=values), language))


def _sentences(comparison: Comparison, language: str) -> Iterator[str]:
    """The answer, and what it rests on."""
    words = partial(_words, language)
    yield write(Message(key=_ANSWERS[comparison.answer]), language)
    ratio, failures = comparison.ratio, comparison.before.failures + comparison.after.failures
    if failures:
        yield words(
            "ratio",
            estimate=_number(ratio.estimate),
            low=_number(ratio.low),
            high=_number(ratio.high),
            p=f"{comparison.p:.3g}",
        )
    if comparison.answer is Answer.TOO_FEW:
        yield words(
            "proves_nothing_yet" if failures else "proves_nothing",
            failures=comparison.after.failures,
            runs=comparison.after.runs,
            percent=f"{100 * comparison.p:.0f}",
        )
    yield words(f"by_{comparison.by}")
    if comparison.needed is not None:
        yield words(f"needed_{comparison.by}", needed=f"{comparison.needed:g}")


def _lines(comparison: Comparison, style: Style, *, markdown: bool) -> Iterator[str]:
    words = partial(_words, style.language)
    answer, *more = _sentences(comparison, style.language)
    yield f"**{answer}**" if markdown else style.paint(answer, _COLORS[comparison.answer])
    yield from more
    yield ""
    head = ("", words("column_before"), words("column_after"))
    yield from table([head, *_shown_rows(comparison, style.language)], markdown=markdown)
    picture = tuple(_picture(comparison, *head[1:]))
    if picture:
        unit = words("per_hour" if comparison.by == "hours" else "per_start")
        yield from ("", words("picture", unit=unit))
        yield from (("```", *picture, "```") if markdown else picture)
    if comparison.settings:
        yield ""
    for change in comparison.settings:
        for text in _tell_change(change, style.language):
            yield f"- {text}" if markdown else text
    for problem in comparison.problems:
        yield told(problem, style.language)


def _tell_change(change: SettingChange, language: str) -> Iterator[str]:
    """Sentences on a setting that differs: where it took effect, and what speaks against that."""
    words = partial(_words, language)
    yield words(
        "setting",
        name=change.name,
        before=", ".join(change.before) or words("none"),
        after=", ".join(change.after) or words("none"),
    )
    for place in change.lacking[:_MOST_PLACES]:
        key = "lacking" if place.ranks else "lacking_run"
        yield words(key, name=change.name, ranks=place.ranks, run=place.run)
    for place in change.unrecorded[:_MOST_PLACES]:
        yield words("unrecorded", name=change.name, ranks=place.ranks, run=place.run)
    if change.printed:
        yield words("printed", name=change.name, values=", ".join(change.printed))
    if change.remark is not None:
        yield one_line(f"{change.name}: {sentence(change.remark, language)}")


def _picture(comparison: Comparison, before: str, after: str) -> Iterator[str]:
    """The intervals of both rates on one axis from 0; the rest of an open one runs out of it."""
    sides = _intervals(comparison)
    most = _axis_end(sides)
    if len(sides) < 2 or most <= 0:
        return
    wide = max(len(before), len(after))
    for name, interval in zip((before, after), sides, strict=True):
        low, middle, high = (round(min(v, most) / most * _AXIS) for v in _of(interval))
        bar = [" "] * (_AXIS + 1)
        bar[low : high + 1] = "-" * (high + 1 - low)
        bar[low], bar[high] = "|", ">" if interval.high > most else "|"
        bar[middle] = "*"
        yield f"  {name:<{wide}}  {''.join(bar).rstrip()}"
    yield f"  {'':<{wide}}  0{_number(most):>{_AXIS}}"


def _intervals(comparison: Comparison) -> list[Interval]:
    """The rates that are compared, as far as they are known."""
    by_hours = comparison.by == "hours"
    sides = (comparison.before, comparison.after)
    found = [side.per_hour if by_hours else side.per_start for side in sides]
    return [interval for interval in found if interval is not None]


def _axis_end(intervals: Iterable[Interval]) -> float:
    """Where an axis of these ends: at the highest bound, unless that is far beyond all rates."""
    shown = [min(i.high, 4 * max(i.estimate, i.low) or i.high) for i in intervals]
    return max(shown, default=0.0)


def _of(interval: Interval) -> tuple[float, float, float]:
    return interval.low, interval.estimate, interval.high


def _shown_rows(comparison: Comparison, language: str) -> list[tuple[str, str, str]]:
    """Rows of which something is known."""
    return [row for row in _rows(comparison, language) if row[1:] != ("-", "-")]


def _rows(comparison: Comparison, language: str) -> Iterator[tuple[str, str, str]]:
    label = partial(_words, language)
    one, two = comparison.before, comparison.after
    yield label("runs"), str(one.runs), str(two.runs)
    yield label("hours"), _maybe(one.hours), _maybe(two.hours)
    yield label("failures"), str(one.failures), str(two.failures)
    yield label("hangs"), str(one.hangs), str(two.hangs)
    yield label("per_hour"), _interval(one.per_hour), _interval(two.per_hour)
    yield label("per_start"), _interval(one.per_start), _interval(two.per_start)
    yield label("between"), _maybe(one.median_hours), _maybe(two.median_hours)
    yield label("steps"), _pair(one.steps), _pair(two.steps)
    yield label("saves"), _saved(one, label), _saved(two, label)
    for size in sorted({*one.bandwidth} & {*two.bandwidth})[-_MOST_SIZES:]:
        name = label("bandwidth", size=size)
        yield name, _speed(one.bandwidth[size]), _speed(two.bandwidth[size])
    for phase in sorted({*one.phases, *two.phases}):
        name = write(Message(key=f"phase.{phase}"), language)
        yield label("phase_row", phase=name), _spread(one, phase), _spread(two, phase)


def _speed(bytes_per_s: float) -> str:
    return f"{_number(bytes_per_s / 1e9)} GB/s"


def _saved(side: Side, label: Callable[..., str]) -> str:
    if side.saves is None:
        return "-"
    count, size, seconds = side.saves
    return label("saved", count=count, size=size, seconds=seconds)


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{_number(interval.estimate)} ({_number(interval.low)} - {_number(interval.high)})"


def _spread(side: Side, phase: str) -> str:
    return _pair(side.phases.get(phase))


def _pair(pair: tuple[float, float] | None) -> str:
    return "-" if pair is None else f"{_number(pair[0])} s, {_number(pair[1])} s"


def _maybe(value: float | None) -> str:
    return "-" if value is None else _number(value)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def _as_dict(comparison: Comparison, language: str) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "verdict": comparison.answer.value,
        "by": comparison.by,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "ratio": plain(comparison.ratio.estimate),
        "interval": plain((comparison.ratio.low, comparison.ratio.high)),
        "p": plain(comparison.p),
        "runs_needed": comparison.needed if comparison.by == "starts" else None,
        "hours_needed": comparison.needed if comparison.by == "hours" else None,
        "settings": [
            {
                **fields(c, "name before after partly"),
                "lacking": [fields(place, "run ranks") for place in c.lacking],
                "unrecorded": [fields(place, "run ranks") for place in c.unrecorded],
                **fields(c, "printed remark", language),
            }
            for c in comparison.settings
        ],
        "problems": [fields(p, "artifact message") for p in comparison.problems],
    }


def _side(side: Side) -> dict[str, object]:
    return {
        **fields(side, "runs hours failures hangs"),
        "failures_per_hour": _interval_dict(side.per_hour),
        "failures_per_start": _interval_dict(side.per_start),
        "hangs_per_start": _interval_dict(side.hangs_per_start),
        "median_hours_to_failure": side.median_hours,
        "causes": dict(side.causes),
        "phases_s": {n: {"median": m, "p99": top} for n, (m, top) in side.phases.items()},
        "steps_s": None if side.steps is None else {"median": side.steps[0], "p99": side.steps[1]},
        "saves": None
        if side.saves is None
        else {"count": side.saves[0], "bytes": side.saves[1], "seconds": side.saves[2]},
        "bandwidth": {str(size): speed for size, speed in side.bandwidth.items()},
    }


def _interval_dict(interval: Interval | None) -> dict[str, object] | None:
    return None if interval is None else fields(interval, "estimate low high")
