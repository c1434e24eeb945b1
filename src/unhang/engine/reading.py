"""From one artifact to its events: the parsers that want its lines are fed with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from typing import get_args

from unhang import lazy_re as re
from unhang.engine.budget import Budget, BudgetSpent
from unhang.engine.own_reports import OwnReports
from unhang.errors import ArtifactError
from unhang.model.events import Event, PythonException, Seen, WorldSeen
from unhang.model.guard import Guard
from unhang.model.ids import Rank
from unhang.model.provenance import NOBODY, TEXT_LIMIT, Problem, Provenance
from unhang.parsers import PARSERS, READ_ANY_WORDS
from unhang.parsers.base import Parser
from unhang.parsers.unread_lines import UnreadLines
from unhang.sources.archives import DAMAGE
from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length
from unhang.sources.context import OTHERS, ContextReader
from unhang.sources.counted_marks import CountedMarks
from unhang.sources.headings import SpeakersAbove
from unhang.sources.line import Line
from unhang.sources.members import readers_of
from unhang.sources.plan import Wanted
from unhang.sources.select import select
from unhang.sources.terminals import HostsAbove

_SHOWN = 8
"""Lines before a failure that may begin a text in which it is shown."""
WANTED = (
    *(
        Wanted(
            needles=p.NEEDLES,
            before=3 if p.NAME in READ_ANY_WORDS else _SHOWN,
            after=p.AFTER,
            sampled=p.SAMPLED,
        )
        for p in PARSERS
    ),
    OwnReports.WANTED,
    ContextReader.WANTED,
    UnreadLines.WANTED,
    SpeakersAbove.WANTED,
    HostsAbove.WANTED,
)
_OWN = len(PARSERS)
_UNREAD = _OWN + 2
_TELL_FAILURES = frozenset(i for i, p in enumerate(PARSERS) if p.NAME not in READ_ANY_WORDS)
_QUOTE_NOTHING = _TELL_FAILURES | {i for i, p in enumerate(PARSERS) if p.NAME == "traceback"}
_ALL = frozenset(range(len(PARSERS)))
_KERNEL_LOG = next(i for i, p in enumerate(PARSERS) if p.NAME == "kernel-log")

SPENT = "budget"
"""Component of the problem of an artifact that was not read to its end for lack of means."""
_CHECKED_EVERY = 256
"""Lines."""
_NEAR = 2
_TRACEBACK = 60
"""Lines around an event that belong to the same message."""
_LARGEST = 1 << 64
_NUMERIC = re.compile(r"\b(?:int|float|Rank|GroupRank|LocalRank|SeqId|Ranks)\b")
"""Types of fields that hold numbers."""
_NUMBERS: Mapping[type[Seen], tuple[str, ...]] = {
    kind: tuple(f.name for f in fields(kind) if _NUMERIC.search(str(f.type)) is not None)
    for kind in get_args(Event)
}

Read = tuple[list[Event], list[Problem]]
"""What one artifact told."""


def read_artifact(
    artifact: Artifact,
    progress: Callable[[int], None] | None = None,
    files: int = 1,
    budget: Budget | None = None,
    lengths: dict[str, Length] | None = None,
) -> Read:
    """Feed one artifact to the parsers that want its lines. Never raises on any bytes.

    Args:
        artifact: what to read.
        progress: is told now and then how many bytes have been read since the last time.
        files: how many files there are; see `sources.sampling.Extent`.
        budget: what may be used; what was read before it is spent is kept.
        lengths: is given the length of an artifact that was read to its end, by its name.
    """
    events: list[tuple[int, Event]] = []
    guard = Guard(artifact.name)
    parsers: dict[int, Parser] = {}
    own = OwnReports()
    suspicious = UnreadLines()
    contexts = ContextReader()
    allowed = _allowed(artifact.name)
    if not allowed:
        return [], []
    is_log = allowed == _ALL or _KERNEL_LOG in allowed  # a listing holds no messages
    ended = None if lengths is None else partial(lengths.__setitem__, artifact.name)
    marks: list[CountedMarks] = []
    lines = select(
        artifact,
        WANTED,
        progress=progress,
        contexts=contexts,
        files=files,
        ended=ended,
        marked=marks.append,
    )
    try:
        if budget is not None:
            budget.check()
        for count, (line, readers) in enumerate(lines, 1):
            if budget is not None and count % _CHECKED_EVERY == 0:
                budget.check()
            if _OWN in readers:
                own.feed(line)
            if _UNREAD in readers and is_log:
                suspicious.feed(line)
            wanting = readers & allowed
            for index in sorted(wanting - _TELL_FAILURES if line.context in OTHERS else wanting):
                events.extend((index, event) for event in _fed(parsers, index, line, guard))
    except Exception as error:
        _tell(guard, error)
    for index, parser in parsers.items():
        last = guard.call(f"parser {parser.NAME}", [], _finish, parser)
        events.extend((index, event) for event in last)
    foreign = contexts.foreign()
    told = [
        event
        for index, event in events
        if not own.hold(event.source.line)
        and not (index in _QUOTE_NOTHING and event.source.line in foreign)
        and _is_credible(event, guard)
    ]
    near = frozenset().union(
        *(_around(event) for index, event in events if index in _QUOTE_NOTHING)
    )
    quotable = (line for line in suspicious.unread(near) if line.source.line not in foreign)
    told.extend(event for found in marks for event in _members(artifact, found))
    told.extend(line for line in quotable if not own.hold(line.source.line))
    # A parser with memory says an event when its last line is known: back to the place it is at.
    told.sort(key=lambda event: event.source.line or 0)
    return told, list(guard.problems)


def _members(artifact: Artifact, marks: CountedMarks) -> Iterator[WorldSeen]:
    """Who is where by the prefix of a log: each of its ranks, said at its first line."""
    for (host, number), (line, text) in () if marks.by_host else marks.members.items():
        source = Provenance(artifact=artifact.name, line=line, text=text[:TEXT_LIMIT])
        yield WorldSeen(
            source=source, origin=NOBODY, at=None, listed=True, rank=Rank(number), host=host
        )


def _fed(parsers: dict[int, Parser], index: int, line: Line, guard: Guard) -> Iterator[Event]:
    """What a parser says of a line; one that fails begins anew with the next line."""
    parser = parsers.get(index)
    if parser is None:
        parser = parsers[index] = PARSERS[index]()
    try:
        yield from parser.feed(line)
    except Exception as error:
        guard.failed(f"parser {parser.NAME}", error, f" at line {line.number}")
        del parsers[index]


def _tell(guard: Guard, error: Exception) -> None:
    """Note why an artifact was not read to its end."""
    if isinstance(error, BudgetSpent):
        guard.note(SPENT, str(error))
    elif isinstance(error, ArtifactError):
        guard.note("reader", str(error))
    elif isinstance(error, DAMAGE):
        told = f"{type(error).__name__}: {error}"[:200]
        guard.note("reader", f"it is damaged ({told}); what stands before that was read")
    else:
        guard.failed("reader", error)


def _finish(parser: Parser) -> list[Event]:
    return list(parser.finish())


def _around(event: Event) -> range:
    """The lines that an event was read from, as far as can be told: a traceback has many."""
    line = event.source.line or 0
    before = _TRACEBACK if isinstance(event, PythonException) else _NEAR
    return range(line - before, line + _NEAR + 1)


def _is_credible(event: Event, guard: Guard) -> bool:
    """Whether its numbers are such as programs print; others would only do harm further on."""
    if all(-_LARGEST <= number <= _LARGEST for number in _numbers(event)):
        return True
    guard.note("numbers", f"line {event.source.line} has a number that nothing can mean; left out")
    return False


def _numbers(event: Event) -> Iterator[float]:
    for name in _NUMBERS[type(event)]:
        value = getattr(event, name)
        if isinstance(value, int | float):
            yield value
        elif isinstance(value, tuple | frozenset):
            yield from (number for number in value if isinstance(number, int | float))


def _allowed(name: str) -> frozenset[int]:
    """The parsers that may read an artifact."""
    names = readers_of(name)
    if names is None:
        return _ALL
    return frozenset(index for index, parser in enumerate(PARSERS) if parser.NAME in names)
