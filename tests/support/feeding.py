"""Feeding parsers in tests: from texts, as the line reader would leave them, to events."""

from __future__ import annotations

from typing import TypeVar

from unhang.model.events import Event
from unhang.model.ids import Rank
from unhang.model.provenance import Origin
from unhang.parsers.base import Parser
from unhang.sources.line import Header, Line

E = TypeVar("E", bound=Event)


def line(
    text: str,
    *,
    rank: int | None = None,
    cpp: int | None = None,
    number: int = 1,
    file: str = "ProcessGroupNCCL.cpp",
) -> Line:
    """A peeled line: printed by a global rank, under a header of line `cpp` of `file`."""
    return Line(
        artifact="job.log",
        number=number,
        text=text,
        raw=text,
        origin=Origin(rank=None if rank is None else Rank(rank)),
        header=None if cpp is None else Header(severity="E", file=file, line=cpp),
    )


def feed(parser: type[Parser], *lines: str | Line) -> list[Event]:
    """All events that a fresh parser says about some lines; each must hold a needle or follow."""
    reader = parser()
    events: list[Event] = []
    left = 0
    for number, item in enumerate(lines, start=1):
        fed = line(item, number=number) if isinstance(item, str) else item
        if any(needle in fed.raw for needle in parser.NEEDLES):
            left = parser.AFTER + 1
        if left > 0:
            left -= 1
            events.extend(reader.feed(fed))
    events.extend(reader.finish())
    return events


def only(kind: type[E], events: list[Event]) -> E:
    """The one event of a kind."""
    (found,) = (e for e in events if isinstance(e, kind))
    return found
