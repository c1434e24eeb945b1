"""Where needles are searched: rare ones everywhere, frequent ones where they tell most.

Frequent needles (progress bars, step lines) are searched at the beginning, before every rare hit
and before the end, where they tell what went on last, and in small samples between.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter

from unhang.sources.buffer import Buffer, line_end
from unhang.sources.plan import ScanPlan
from unhang.sources.scan import Hit

_GLANCE = 1 << 10
_NEW = 8
"""Hits of a needle before which one looks back: what comes back regularly is no failure."""
_APART = 256 << 10
"""Bytes between hits of a needle beyond which they are no list, as errors of many ranks are."""
_SAMPLE = 2 << 10
_DENSE, _STRIDE = 4 << 20, 16 << 20
_FAR, _LONG_STRIDE = 256 << 20, 64 << 20
"""How far the first samples go, and those after them; how far these are from one to the next."""
_RARE = 20_000
"""Hits after which a needle is no longer taken for rare in an artifact."""

_FEW_FILES = 16
"""Files of which each is searched in full; of more, each gets its share of that."""

Span = tuple[int, int]


class Weight(IntEnum):
    """How much of what surrounds a hit is looked at.

    Attributes:
        FREQUENT: nothing; of many lines of one shape some are left out.
        REGULAR: nothing but what it is cut from: it came back far apart again and again.
        RARE: what leads to it and what follows.
    """

    FREQUENT = 0
    REGULAR = 1
    RARE = 2


NeedleHit = tuple[int, frozenset[int], Weight]
"""A needle's end in the buffer, who wants it, and its weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of one file is searched for frequent needles, in bytes.

    A job of 512 ranks tells in 512 files what one of 8 ranks tells in 8, and must not cost 64 times
    as much.

    Attributes:
        head: at the beginning.
        whole: of which, at the beginning, no line is thinned out; all of a file up to `head`.
        tail: before the end.
        lookback: before a rare hit, until there have been `looked_back` bytes of it; then `short`.
        stride: from one sample to the next in the first few megabytes.
    """

    head: int = 128 << 10
    whole: int = 16 << 10
    tail: int = 64 << 10
    lookback: int = 64 << 10
    looked_back: int = 256 << 10
    short: int = 12 << 10
    stride: int = 128 << 10

    @classmethod
    def of(cls, files: int) -> Extent:
        """For each of so many files."""
        most = cls()
        share = min(1.0, _FEW_FILES / max(files, 1))
        return cls(
            head=max(int(most.head * share), 4 << 10),
            whole=max(int(most.whole * share), 1 << 10),
            tail=max(int(most.tail * share), 8 << 10),
            lookback=max(int(most.lookback * share), 2 << 10),
            looked_back=int(most.looked_back * share),
            short=max(int(most.short * share), _GLANCE),
            stride=int(most.stride / share),
        )


class Search:
    """Decides where in each step frequent needles are searched."""

    def __init__(self, buffer: Buffer, prepared: ScanPlan, extent: Extent) -> None:
        self._buffer = buffer
        self._plan = prepared
        self._extent = extent
        self._seen: Counter[int] = Counter()
        self._last: dict[int, int] = {}
        self._searched_to = 0
        self._looked_back = 0

    def hits(self) -> list[NeedleHit]:
        """What is found in this step, in order; frequent needles also shortly before it."""
        buffer, rare = self._buffer, self._plan.rare
        begin = max(0, buffer.begin - rare.longest + 1)
        readers = rare.readers
        found: list[NeedleHit] = []
        weak: list[Hit] = []
        spans: list[Span] = []
        for offset, needle in rare.scanner.hits(buffer.data, begin, buffer.end):
            if offset <= buffer.begin:
                continue
            self._seen[needle] += 1
            if self._seen[needle] > _RARE:
                weak.append((offset, needle))
                continue
            back = self._lookback(offset, needle)
            spans.append((offset - back, offset))
            found.append((offset, readers[needle], Weight.RARE if back else Weight.REGULAR))
        regions = self._regions(spans)
        found += [(at, readers[index], Weight.FREQUENT) for at, index in _within(weak, regions)]
        frequent = self._plan.frequent
        readers = frequent.readers
        for low, high in regions:
            found += [
                (offset, readers[index], Weight.FREQUENT)
                for offset, index in frequent.scanner.hits(buffer.data, low, high)
            ]
        found.sort(key=itemgetter(0))
        return found

    def _regions(self, spans: list[Span]) -> list[Span]:
        """Where to search frequent needles: whole lines, in order, without overlap."""
        buffer = self._buffer
        spans += _samples(buffer.base, buffer.begin, buffer.end, self._extent)
        if buffer.final:
            spans.append((buffer.end - self._extent.tail, buffer.end))
        regions: list[Span] = []
        for low, high in sorted(spans):
            begin = self._line_begin(max(low, self._searched_to - buffer.base, 0))
            end = min(line_end(buffer.data, high, buffer.end), buffer.end)
            if begin < end:
                regions.append((begin, end))
                self._searched_to = buffer.base + end
        return regions

    def _lookback(self, offset: int, needle: int) -> int:
        """Less, once there has been much; ever more rarely where a needle comes back far apart."""
        seen, place = self._seen[needle], self._buffer.base + offset
        apart = place - self._last.get(needle, 0)
        self._last[needle] = place
        if seen > _NEW:
            return 0 if apart > _APART and seen % (seen // _NEW) > 0 else _GLANCE
        extent = self._extent
        size = extent.lookback if self._looked_back < extent.looked_back else extent.short
        if place > self._searched_to + size:
            self._looked_back += size
        return size

    def _line_begin(self, offset: int) -> int:
        buffer = self._buffer
        if offset in {buffer.begin, self._searched_to - buffer.base}:
            return offset
        return line_end(buffer.data, offset, buffer.end)


def _within(hits: Sequence[Hit], regions: Sequence[Span]) -> Iterator[Hit]:
    lows = [low for low, _ in regions]
    for hit in hits:
        place = bisect.bisect_left(lows, hit[0]) - 1
        if place >= 0 and hit[0] <= regions[place][1]:
            yield hit


def _samples(base: int, begin: int, end: int, extent: Extent) -> Iterator[Span]:
    """The beginning of the stream, and a little at every stride, as offsets in the buffer."""
    low, high = base + begin, base + end
    if low < extent.head:
        yield begin, min(end, extent.head - base)
    for stride, first, last in (
        (extent.stride, extent.head, _DENSE),
        (_STRIDE, _DENSE, _FAR),
        (_LONG_STRIDE, _FAR, high),
    ):
        start = max(first, low - low % stride)
        for at in range(start, min(last, high), stride):
            if at + _SAMPLE > low:
                yield max(at, low) - base, min(at + _SAMPLE, high) - base
