"""A sliding view of a long stream: the new part, some of what came before, and line numbers."""

from __future__ import annotations

from typing import IO, NamedTuple

from unhang import lazy_re as re
from unhang.errors import ArtifactError

CHUNK = 1 << 20
"""Bytes read at once: they stay in the processor's cache while they are scanned and counted."""
BEHIND = 128 << 10
"""Bytes kept of what came before."""
LONGEST_UNIT = 64 << 10
"""Bytes of one line that are looked at together; a longer one is seen in pieces around its hits."""
_COLOURS = re.compile(rb"\x1b\[[0-9;]{0,24}m")
_SMALL = 32 << 10
_PIECE = 120 << 10
"""Bytes that stay below what allocators ask the system for."""
_LOOK, _LONG = 1 << 10, 60
"""Bytes that tell whether lines are long, and bytes of a line from which they are."""
_CAPACITY = BEHIND + CHUNK + 4 * LONGEST_UNIT


class Length(NamedTuple):
    """How long a stream was when it was read to its end: in bytes, and in line ends."""

    size: int
    newlines: int


class Buffer:
    """The part of a stream that is at hand.

    Attributes:
        data: the bytes; those from `size` on are no part of the stream.
        size: how many there are.
        base: offset in the stream of the first one.
        begin: where the part that has not been looked at begins.
        end: where the lines that are whole end; within a line that never ends, some way before
            the end of the data.
        read_bytes: how many have been read from the stream.
        final: the stream has ended.
        error: what ended it early, if anything did.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.data = bytearray(_SMALL)
        self.size = 0
        self.base = 0
        self.read_bytes = 0
        self.begin = 0
        self.end = 0
        self.final = False
        self.error: Exception | None = None
        self._counted_to = 0
        self._newlines = 0

    def advance(self) -> bool:
        """Read on; False when everything has been looked at."""
        if self.final:
            return False
        self.begin = self.end
        self._drop(self.begin - BEHIND)
        self.final = self._fill()
        self.end = self.size if self.final else self._whole_lines()
        return True

    def number(self, offset: int) -> int:
        """One-based number of the line that holds `data[offset]`; offsets must not decrease."""
        self._count(offset)
        return self._newlines + 1

    def length(self) -> Length:
        """Of what has been read, once all has been looked at."""
        self._count(self.size)
        return Length(self.read_bytes, self._newlines)

    def _count(self, offset: int) -> None:
        if offset > self._counted_to:
            self._newlines += newlines(self.data, self._counted_to, offset)
            self._counted_to = offset

    def _drop(self, count: int) -> None:
        if count <= 0:
            return
        self._count(count)
        self.data[: self.size - count] = self.data[count : self.size]
        self.size -= count
        self.base += count
        self.begin -= count
        self.end -= count
        self._counted_to -= count

    def _fill(self) -> bool:
        """Read a chunk; True at the end of the stream."""
        while self.size - self.begin < CHUNK:
            room = len(self.data) - self.size
            if room == 0:
                if len(self.data) == _CAPACITY:
                    break
                self.data.extend(bytes(_CAPACITY - len(self.data)))
                continue
            try:
                count = self._read(min(room, CHUNK))
            except (OSError, ArtifactError) as error:
                self.error, count = error, 0
            if count == 0:
                return True
            self.read_bytes += count
            self.size += self._without_colours(count)
        return False

    def _read(self, most: int) -> int:
        read_into = getattr(self._stream, "readinto", None)
        if read_into is not None:
            with memoryview(self.data) as whole, whole[self.size : self.size + most] as space:
                return int(read_into(space) or 0)
        piece = self._stream.read(most)
        self.data[self.size : self.size + len(piece)] = piece
        return len(piece)

    def _without_colours(self, count: int) -> int:
        """Take colours out of the part just read: they stand inside needles too."""
        end = self.size + count
        if (
            self.data.find(b"\x1b", self.size, end) < 0
        ):  # one byte is found ten times faster than two
            return count
        plain = _COLOURS.sub(b"", bytes(self.data[self.size : end]))
        self.data[self.size : self.size + len(plain)] = plain
        return len(plain)

    def _whole_lines(self) -> int:
        end = self.data.rfind(b"\n", self.begin, self.size)
        if end < 0:
            end = self.data.rfind(b"\r", self.begin, self.size - 1)
        if end < 0:
            return max(self.begin, self.size - 2 * LONGEST_UNIT)
        return end + 1


def newlines(data: bytearray, begin: int, end: int) -> int:
    """How many line ends there are in `data[begin:end]`.

    `count` looks at each byte; who takes line ends out leaps from one to the next, which is twice
    as fast where lines are long.
    """
    found = 0
    for low in range(begin, end, _PIECE):
        high = min(low + _PIECE, end)
        if data.count(b"\n", low, min(low + _LOOK, high)) > _LOOK // _LONG:
            found += data.count(b"\n", low, high)
        else:
            piece = data[low:high]
            found += len(piece) - len(piece.replace(b"\n", b""))
    return found


def line_end(data: bytearray, offset: int, limit: int) -> int:
    """Where the line that holds `data[offset]` ends, its end included."""
    newline = data.find(b"\n", offset, limit)
    stop = limit if newline < 0 else newline + 1
    carriage = data.find(b"\r", offset, stop)
    return stop if carriage < 0 else carriage + 1
