"""No parser raises on any text, and what it says comes from the line it was given."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from property.texts import lines
from unhang.model.events import Event
from unhang.model.provenance import NOBODY, Origin
from unhang.model.time import Clock, Instant
from unhang.parsers import PARSERS
from unhang.parsers.base import Parser
from unhang.sources.line import Header, Line

_ORIGINS = st.sampled_from([NOBODY, Origin(pid=7), Origin(host="n1", task=0), Origin(repeated=3)])
_HEADERS = st.sampled_from([None, Header(severity="E", file="ProcessGroupNCCL.cpp", line=607)])
_TIMES = st.sampled_from([None, Instant(seconds=0.0, clock=Clock.TIME_OF_DAY)])


@st.composite
def fed_lines(draw: st.DrawFn) -> list[Line]:
    """Lines as the sources hand them over, wrappers and times at will."""
    texts = draw(st.lists(lines(), max_size=12))
    return [
        Line(
            artifact="job.log",
            number=number,
            text=text,
            raw=text,
            origin=draw(_ORIGINS),
            header=draw(_HEADERS),
            at=draw(_TIMES),
            gap=draw(st.booleans()),
        )
        for number, text in enumerate(texts, start=1)
    ]


def feed(parser: Parser, found: list[Line]) -> list[Event]:
    """All events, those at the end too."""
    return [*(event for line in found for event in parser.feed(line)), *parser.finish()]


@settings(max_examples=300, deadline=None)
@given(found=fed_lines())
def test_any_text_is_read_without_an_exception(found: list[Line]) -> None:
    for kind in PARSERS:
        for event in feed(kind(), found):
            assert event.source.artifact == "job.log", kind.NAME
            assert event.source.line is not None, kind.NAME
            assert 1 <= event.source.line <= len(found), kind.NAME
