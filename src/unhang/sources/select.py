"""From an artifact to the few lines that some parser wants, each with who wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from unhang.errors import ArtifactError
from unhang.model.provenance import Origin
from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length
from unhang.sources.clean import clean
from unhang.sources.columns import Column, find_column
from unhang.sources.context import ContextReader, LineContext
from unhang.sources.counted_marks import CountedMarks, find_counted_marks
from unhang.sources.headings import SpeakersAbove
from unhang.sources.json_lines import is_wrapped, unwrapped
from unhang.sources.line import Line
from unhang.sources.peel import PeeledMessage, peel
from unhang.sources.plan import ScanPlan, Wanted, plan
from unhang.sources.sampling import Extent
from unhang.sources.unwrap import LineUnit, rejoin
from unhang.sources.windows import BEGINNING, windows

__all__ = ["Wanted", "select"]

Selected = tuple[Line, frozenset[int]]


def select(
    artifact: Artifact,
    wanted: Sequence[Wanted],
    *,
    progress: Callable[[int], None] | None = None,
    contexts: ContextReader | None = None,
    files: int = 1,
    plain: bool = False,
    ended: Callable[[Length], None] | None = None,
    marked: Callable[[CountedMarks], None] | None = None,
) -> Iterator[Selected]:
    """Yield the logical lines of `artifact` that hold a needle, in order.

    A line that several readers want, before some of which lines were skipped and before others
    not, is yielded once for each kind.

    Args:
        artifact: what to read.
        wanted: one entry for each reader.
        progress: is told now and then how many bytes have been read since the last time.
        contexts: tells whose words a line holds; without it every line is a message.
        files: how many files there are; the more, the less each is searched for frequent needles.
        plain: do without compiled libraries even when they are installed.
        ended: is told the length of an artifact that was read to its end.
        marked: is told the prefix that names a host and counts its processes, where there is one.

    Yields:
        A line and the indexes into `wanted` of those that asked for it.

    Raises:
        ArtifactError: the artifact cannot be opened or read; lines before the damage have
            been yielded.
    """
    prepared = plan(tuple(wanted), plain=plain)
    try:
        with artifact.open() as stream:
            chooser = _Chooser(wanted, prepared)
            prefix = _Prefix(marked)
            above = SpeakersAbove(artifact.origin)
            named = artifact
            units = windows(stream, prepared, progress, Extent.of(files), prefix.look, ended=ended)
            for whole in rejoin(_printed(prefix.off(units))):
                readers = chooser.readers(whole)
                base = above.base(whole.text, gap=whole.gap)
                unit = _led(whole, above.lead)
                if readers:
                    if base is not named.origin:
                        named = replace(artifact, origin=base)
                    base = prefix.speaker(unit, named.origin)
                    yield from _lines(named, unit, readers, chooser, contexts, base=base)
                elif contexts is not None:
                    _pass_by(unit, contexts)
    except OSError as error:
        raise ArtifactError(
            f"reading stopped ({error.strerror or error}); what came before was used"
        ) from error


class _Prefix:
    """The prefix of an artifact, once its beginning has been seen."""

    def __init__(self, marked: Callable[[CountedMarks], None] | None = None) -> None:
        self._marked = marked
        self._column: Column | CountedMarks | None = None

    def look(self, head: bytes) -> None:
        """Find it in the whole lines of the beginning."""
        whole = head if len(head) < BEGINNING else head.rpartition(b"\n")[0]
        lines = whole.decode("utf-8", "replace").splitlines()
        cleaned = [clean(line) for line in lines]
        marks = find_counted_marks(cleaned)
        if marks is not None and self._marked is not None:
            self._marked(marks)
        self._column = marks or find_column(cleaned)

    def off(self, units: Iterator[LineUnit]) -> Iterator[LineUnit]:
        """The units without it, with the name that stands in it."""
        for unit in units:
            told = None if self._column is None else self._column.split(unit.text)
            if told is None:
                yield unit
            else:
                yield replace(unit, name=told[0], lead=told[1], text=told[2])

    def speaker(self, unit: LineUnit, origin: Origin) -> Origin:
        """Who speaks behind the prefix of a unit."""
        if unit.name is None or self._column is None:
            return origin
        return self._column.speaker(unit.name, origin)


def _printed(units: Iterator[LineUnit]) -> Iterator[LineUnit]:
    """The units as the program printed them, where a collector wrote JSON."""
    for unit in units:
        if is_wrapped(unit.text):
            yield from (replace(unit, text=clean(text)) for text in unwrapped(unit.text))
        else:
            yield unit


class _Chooser:
    """Knows who still wants the lines after a hit, and who has missed lines."""

    def __init__(self, wanted: Sequence[Wanted], prepared: ScanPlan) -> None:
        self._wanted = wanted
        self._after = prepared.after
        self._left = [0] * len(wanted)
        self._following: set[int] = set()
        self._place = 0
        self._last: dict[int, int] = {}

    def readers(self, unit: LineUnit) -> frozenset[int]:
        """Who wants this unit: those with a needle in it, and those it follows a hit of."""
        self._place += 2 if unit.gap else 1
        if unit.gap:
            self._following.clear()
        hits = unit.hits if unit.taken == 1 else unit.hits | self._across(unit.text)
        readers = hits | self._following
        for reader in self._following - hits:
            self._left[reader] -= 1
        for reader in hits:
            self._left[reader] = self._after[reader]
        self._following = {reader for reader in readers if self._left[reader] > 0}
        return readers

    def _across(self, text: str) -> frozenset[int]:
        """Who finds a needle in a message that was wrapped, perhaps inside the needle."""
        return frozenset(
            index
            for index, want in enumerate(self._wanted)
            if any(needle in text for needle in want.needles)
        )

    def with_gap(self, readers: frozenset[int]) -> frozenset[int]:
        """Those of `readers` that have not been given what stands before this unit."""
        missed = frozenset(r for r in readers if self._last.get(r, 0) != self._place - 1)
        for reader in readers:
            self._last[reader] = self._place
        return missed


def _led(unit: LineUnit, length: int) -> LineUnit:
    """The unit without the name that a command put before its line."""
    if not length:
        return unit
    return replace(unit, lead=unit.lead + unit.text[:length], text=unit.text[length:])


def _pass_by(unit: LineUnit, contexts: ContextReader) -> None:
    """Let the reader of contexts see a line near others that nobody wants."""
    if contexts.may_matter(unit.text, gap=unit.gap):
        first = next(peel(unit.text), None)
        if first is not None:
            contexts.pass_by(first.text, unit.number, raw=first.raw)


def _lines(
    artifact: Artifact,
    unit: LineUnit,
    readers: frozenset[int],
    chooser: _Chooser,
    contexts: ContextReader | None,
    *,
    base: Origin,
) -> Iterator[Selected]:
    missed = chooser.with_gap(readers)
    for message in peel(unit.text, base):
        line = _line(artifact, unit, message, contexts)
        if readers != missed:
            yield line, readers - missed
        if missed:
            yield replace(line, gap=True), missed
        missed = frozenset()


def _line(
    artifact: Artifact, unit: LineUnit, message: PeeledMessage, contexts: ContextReader | None
) -> Line:
    context = LineContext.MESSAGE
    if contexts is not None:
        told = message.header is not None or message.at is not None
        context = contexts.read(
            message.text,
            unit.number,
            raw=message.raw,
            marked=message.quoted,
            told=told or message.origin != artifact.origin,
            gap=unit.gap,
        )
    return Line(
        artifact=artifact.name,
        number=unit.number,
        text=message.text,
        raw=unit.lead + message.raw,
        origin=message.origin,
        at=message.at,
        header=message.header,
        context=context,
    )
