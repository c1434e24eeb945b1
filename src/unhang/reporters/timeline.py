"""From a trace to what `unhang timeline` prints of it, and to a page with the heatmap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.model.activity import ActivityMap
from unhang.model.ids import RankSpans
from unhang.model.provenance import Message
from unhang.model.trace import ClockOffset, Trace
from unhang.reporters import public
from unhang.reporters.catalogue import sentence
from unhang.reporters.catalogue.by_text import told
from unhang.reporters.heat_picture import heat_png, heat_svg, legend_of
from unhang.reporters.html import heatmap
from unhang.reporters.html.frame import Section, page, words
from unhang.reporters.html.markup import Html, join, tag
from unhang.reporters.printable import one_line
from unhang.reporters.style import PLAIN, Style

_MOST_CLOCKS = 8
_MOST_PROBLEMS = 5


def summary(trace: Trace, output: str, style: Style = PLAIN) -> str:
    """Return what was written, what never completed, and how the clocks were aligned."""
    return "\n".join(one_line(line) for line in _lines(trace, output, style.language))


def render_heatmap(trace: Trace, found: ActivityMap | None, style: Style = PLAIN) -> str:
    """Return a page with what each rank did over time."""
    language = style.language
    trace = replace(trace, clocks=public(trace.clocks, "html"))
    title = words("title.time", language)
    body = (
        Html("")
        if found is None
        else join(
            tag("p", words(f"basis.{found.basis.value}", language), class_="quiet small"),
            heatmap.by_rank(found, language),
            heatmap.legend(found, language),
        )
    )
    notes = [tag("li", one_line(line)) for line in _notes(trace, language)]
    head = tag("section", tag("h1", title), tag("ul", notes), class_="verdict", id="verdict")
    section = Section(name="time", title=words("heat.ranks", language), body=body)
    return page(f"{title} · unhang", head, [section], language)


def render_picture(trace: Trace, found: ActivityMap, form: str, style: Style = PLAIN) -> bytes:
    """Return the heatmap as `svg` or `png`, for other programs and documents."""
    trace = replace(trace, clocks=public(trace.clocks, "html"))
    language = style.language
    notes = [words(f"basis.{found.basis.value}", language), *_notes(trace, language)]
    if form == "svg":
        return heat_svg(found, notes, language).encode()
    return heat_png(found, "\n".join([*_colors(found, language), *notes]))


def colors(found: ActivityMap, style: Style = PLAIN) -> str:
    """Return what the colours of a PNG say, which has no letters."""
    return "\n".join(_colors(found, style.language))


def _colors(found: ActivityMap, language: str) -> Iterator[str]:
    for color, name in legend_of(found, language):
        yield _say("timeline.color", language, color=color, name=name)


def _lines(trace: Trace, output: str, language: str) -> Iterator[str]:
    yield _say("timeline.written", language, output=output, slices=len(trace.slices))
    yield from _notes(trace, language)
    for problem in trace.problems[:_MOST_PROBLEMS]:
        yield told(problem, language)
    if len(trace.problems) > _MOST_PROBLEMS:
        yield _say("label.more", language, count=len(trace.problems) - _MOST_PROBLEMS)
    if output.endswith(".pftrace"):
        yield _say("timeline.open", language)


def _notes(trace: Trace, language: str) -> Iterator[str]:
    ranks = RankSpans.of({s.rank for s in trace.slices if s.rank is not None})
    if ranks:
        begin = min(s.begin_s for s in trace.slices)
        yield _say("timeline.ranks", language, ranks=ranks, span=trace.end_s - begin)
    stalled = {s.call for s in trace.slices if s.call is not None and s.end_s is None}
    if stalled:
        waiting = RankSpans.of(
            {s.rank for s in trace.slices if s.rank is not None and s.call and s.end_s is None}
        )
        yield _say("timeline.stalled", language, count=len(stalled), ranks=waiting)
    compared = [clock for clock in trace.clocks if clock.calls > 0]
    yield from (_clock(clock, language) for clock in compared[:_MOST_CLOCKS])
    if len(compared) > _MOST_CLOCKS:
        yield _say("timeline.more_clocks", language, count=len(compared) - _MOST_CLOCKS)
    if alone := len(trace.clocks) - len(compared):
        yield _say("timeline.clocks_unknown", language, count=alone)


def _clock(clock: ClockOffset, language: str) -> str:
    values = {
        "clock": clock.clock,
        "offset": clock.offset_s,
        "error": clock.error_s,
        "calls": clock.calls,
    }
    key = "drifts" if clock.error_s is None else "moved" if clock.offset_s else "agrees"
    return _say(f"timeline.clock_{key}", language, **values)


def _say(key: str, language: str, **values: object) -> str:
    return sentence(Message(key=key, values=values), language)
