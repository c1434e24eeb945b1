"""What a parser is: it is fed the lines of one artifact and says events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar, Protocol, TypedDict

from unhang.model.events import Event
from unhang.model.provenance import NOBODY, Origin, Provenance
from unhang.model.time import Instant
from unhang.model.toml import load
from unhang.sources.line import Line


class Parser(Protocol):
    """A parser of one format. A new instance reads each artifact.

    Attributes:
        NAME: for problems and docs.
        NEEDLES: literal texts; a line is fed when it, or a line close above it, holds one.
            Without any hit in an artifact the parser is never built. Short and rare texts are
            best: text may be wrapped inside words.
        AFTER: how many further lines are fed after a hit (continuations, tables, tracebacks).
        SAMPLED: the needles are frequent in healthy logs (progress bars); in large artifacts
            only some of the hits are fed, always the first and the last ones.
    """

    NAME: ClassVar[str]
    NEEDLES: ClassVar[tuple[str, ...]]
    AFTER: ClassVar[int]
    SAMPLED: ClassVar[bool]

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line, in order, and say what it completes. Never raises on any text."""

    def finish(self) -> Iterator[Event]:
        """The artifact has ended: say what was still open."""


class LineParser:
    """Base of parsers, which say in their head what `Parser` names: `(LineParser, name="gloo")`.

    The needles are those of that name in `data/needles.toml` where none are given.
    """

    NAME: ClassVar[str]
    NEEDLES: ClassVar[tuple[str, ...]]
    AFTER: ClassVar[int]
    SAMPLED: ClassVar[bool]

    def __init_subclass__(
        cls, *, name: str, needles: Sequence[str] = (), after: int = 0, sampled: bool = False
    ) -> None:
        """Keep what the class says of itself."""
        cls.NAME, cls.AFTER, cls.SAMPLED = name, after, sampled
        cls.NEEDLES = tuple(needles or _needles()[name])

    def finish(self) -> Iterator[Event]:
        """Nothing is open."""
        return iter(())


@cache
def _needles() -> dict[str, list[str]]:
    return load("unhang.parsers", "data/needles.toml")


def needles(name: str) -> tuple[str, ...]:
    """The needles of that name in `data/needles.toml`."""
    return tuple(_needles()[name])


class EventFields(TypedDict):
    """The fields that every event takes from its line."""

    source: Provenance
    origin: Origin
    at: Instant | None


def place(line: Line) -> EventFields:
    """Keyword arguments for an event read from `line`: `CollectiveTimeout(**place(line), …)`."""
    return EventFields(source=line.provenance(), origin=line.origin, at=line.at)


def place_on(line: Line, host: str | None) -> EventFields:
    """The place of an event that is of another host than the one that prints it."""
    fields = place(line)
    if host is not None and "[" not in host and "," not in host:
        fields["origin"] = replace(NOBODY, host=host)
    return fields
