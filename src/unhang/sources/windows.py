"""From a stream to the units that may matter: those with a needle, and their neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import IO, NamedTuple

from unhang import lazy_re as re
from unhang.sources.buffer import LONGEST_UNIT, Buffer, Length, line_end
from unhang.sources.clean import clean
from unhang.sources.plan import ScanPlan
from unhang.sources.sampling import Extent, NeedleHit, Search, Weight
from unhang.sources.unwrap import MOST_LINES, LineUnit, may_be_cut

BEGINNING = 32 << 10
"""Bytes that are shown as the beginning of a stream."""
_HALF = LONGEST_UNIT // 2
_FIRST, _LAST = 2, 4
"""Lines of one shape that are kept, of those between two rare hits."""
_SHAPE, _DRAWN = 64, 512
"""Bytes that tell the shape of a line, and those among which they are looked for."""


def windows(
    stream: IO[bytes],
    prepared: ScanPlan,
    progress: Callable[[int], None] | None = None,
    extent: Extent = Extent(),  # noqa: B008 (frozen)
    begun: Callable[[bytes], None] | None = None,
    *,
    ended: Callable[[Length], None] | None = None,
) -> Iterator[LineUnit]:
    """Yield hits and their neighbours in order; raises what ended the stream early, at the end.

    Args:
        stream: what is read.
        prepared: which needles.
        progress: is told the bytes that were read.
        extent: how much is searched for frequent needles.
        begun: is shown the beginning of the stream before the first unit.
        ended: is told the length of a stream that was read to its end.
    """
    buffer = Buffer(stream)
    search = Search(buffer, prepared, extent)
    cutter = _Cutter(buffer, prepared, extent)
    told = 0
    while buffer.advance():
        if begun is not None and told == 0:
            begun(bytes(buffer.data[: min(buffer.size, BEGINNING)]))
        yield from cutter.units(search.hits())
        if progress is not None:
            progress(buffer.read_bytes - told)
        told = buffer.read_bytes
    if buffer.error is not None:
        raise buffer.error
    if ended is not None:
        ended(buffer.length())


class _Spot(NamedTuple):
    """A line with hits."""

    low: int
    high: int
    readers: frozenset[int]
    weight: Weight


class _Cutter:
    """Cuts hits and their neighbours out of the buffer."""

    def __init__(self, buffer: Buffer, prepared: ScanPlan, extent: Extent) -> None:
        self._buffer = buffer
        self._extent = extent
        self._after = prepared.after
        self._before = prepared.before
        self._cursor = 0  # offset in the stream up to which units have been given
        self._left = 0
        self._gap = False

    def units(self, hits: Sequence[NeedleHit]) -> Iterator[LineUnit]:
        """The units of this step."""
        for spot in self._thinned(list(self._spots(hits))):
            yield from self._lead(spot)
            yield from self._unit(spot.low, spot.high, spot.readers, spot.weight)
        yield from self._follow(self._buffer.end)

    def _spots(self, hits: Sequence[NeedleHit]) -> Iterator[_Spot]:
        """The lines that hold hits."""
        floor = self._cursor - self._buffer.base
        index, count = 0, len(hits)
        while index < count:
            offset, readers, weight = hits[index]
            index += 1
            if offset <= floor:
                continue  # its line has been given already, as a neighbour
            low, high = self._bounds(offset, max(floor, 0))
            while index < count and hits[index][0] <= high:
                readers |= hits[index][1]
                weight = max(weight, hits[index][2])
                index += 1
            yield _Spot(low, high, readers, weight)
            floor = high

    def _thinned(self, spots: list[_Spot]) -> Iterator[_Spot]:
        """Of frequent lines of one shape only the first and the last before each rare hit."""
        buffer = self._buffer
        extent = self._extent
        small = buffer.final and buffer.base + buffer.size <= extent.head
        whole = extent.head if small else extent.whole
        run: list[tuple[bytes, _Spot]] = []
        for spot in spots:
            if spot.weight > Weight.FREQUENT or buffer.base + spot.low < whole:
                yield from _ends(run)
                run = []
                yield spot
            else:
                run.append((_shape(buffer.data, spot), spot))
        yield from _ends(run)

    def _bounds(self, offset: int, floor: int) -> tuple[int, int]:
        """The unit that holds a needle which ends at `offset`; a very long line is cut."""
        data = self._buffer.data
        low = max(floor, offset - _HALF)
        newline = data.rfind(b"\n", low, offset)
        low = max(low, newline + 1)
        low = max(low, data.rfind(b"\r", low, offset) + 1)
        high = line_end(data, max(low, offset - 1), min(offset + _HALF, self._buffer.size))
        return low, high

    def _lead(self, spot: _Spot) -> Iterator[LineUnit]:
        """What follows the hit before, and what stands before this one."""
        low = spot.low
        yield from self._follow(low)
        cursor = max(0, self._cursor - self._buffer.base)
        begin = low
        if spot.weight is Weight.RARE:
            for _ in range(max(self._before[reader] for reader in spot.readers)):
                begin = self._line_before(begin, cursor)
        if begin > cursor:
            self._gap = True
            self._cursor = self._buffer.base + begin
        while self._cursor < self._buffer.base + low:
            yield from self._next(low)

    def _line_before(self, begin: int, floor: int) -> int:
        data = self._buffer.data
        floor = max(floor, begin - _HALF)
        end = begin
        while end > floor and data[end - 1] in b"\r\n":
            end -= 1
        low = max(floor, data.rfind(b"\n", floor, end) + 1)
        return max(low, data.rfind(b"\r", low, end) + 1)

    def _follow(self, limit: int) -> Iterator[LineUnit]:
        """The units that were promised after the hit before."""
        while self._left > 0 and self._cursor < self._buffer.base + limit:
            yield from self._next(limit)

    def _next(self, limit: int) -> Iterator[LineUnit]:
        """The unit at the cursor, if there is text in it."""
        low = self._cursor - self._buffer.base
        high = line_end(self._buffer.data, low, min(limit, low + LONGEST_UNIT))
        yield from self._unit(low, high, frozenset(), Weight.FREQUENT)

    def _unit(
        self, low: int, high: int, readers: frozenset[int], weight: Weight
    ) -> Iterator[LineUnit]:
        self._cursor = self._buffer.base + high
        text = self._buffer.data[low:high].decode("utf-8", errors="replace")
        text = clean(text.rstrip("\r\n"))
        if not text.strip() and not readers:
            return
        if readers:
            after = max((self._after[reader] for reader in readers), default=0)
            # Some of the lines after a hit may be halves of one message.
            more = after > 0 or weight is Weight.RARE or (weight > 0 and may_be_cut(text))
            self._left = max(self._left, after + MOST_LINES if more else 0)
        else:
            self._left = max(0, self._left - 1)
        yield LineUnit(
            number=self._buffer.number(low),
            text=text,
            hits=readers,
            gap=self._gap,
            plain=bool(readers) and weight is Weight.FREQUENT,
        )
        self._gap = False


def _ends(run: Sequence[tuple[bytes, _Spot]]) -> Iterator[_Spot]:
    """The first and the last of each shape."""
    totals = Counter(shape for shape, _ in run)
    seen: Counter[bytes] = Counter()
    for shape, spot in run:
        seen[shape] += 1
        if seen[shape] <= _FIRST or seen[shape] > totals[shape] - _LAST:
            yield spot


_SPEAKER = re.compile(rb"\s*(?:[\[(][^\])]{0,60}[\])]:?|\d{1,6}:(?=\s))")
_CHANGING = b" \r\n0123456789#=>-.,:/%" + bytes(range(128, 256))
"""What numbers are written and progress bars are drawn with."""


def _shape(data: bytearray, spot: _Spot) -> bytes:
    """The line's beginning without what changes, but for what may name the speaker."""
    line = bytes(data[spot.low : min(spot.high, spot.low + _DRAWN)])
    speaker = _SPEAKER.match(line)
    end = 0 if speaker is None else speaker.end()
    return line[:end] + line[end:].translate(None, _CHANGING)[:_SHAPE]
