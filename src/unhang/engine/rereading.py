"""The part of an artifact around the end of one of its lines, read once more.

Trouble stands at the end of most logs, and a thousand of them hold gigabytes before it: a file
whose length is known is read from its end.
"""

from __future__ import annotations

from typing import IO, NamedTuple

from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length

LARGEST = 64 << 20
"""Bytes that are read once more."""
BEFORE = 1 << 20
"""Bytes before the end of the line, of which the first line is whole."""
_PIECE = 64 << 10


class Around(NamedTuple):
    """What stands before the end of a line, and after it."""

    before: bytes
    after: bytes


def around(artifact: Artifact, line: int, length: Length | None) -> Around | None:
    """What stands around the end of a line, if the artifact has so many and they can be read.

    Args:
        artifact: that can be opened again.
        line: its one-based number.
        length: of the artifact when it was read, if it was read to its end.

    Returns:
        `BEFORE` bytes at most before the end, whole lines, and what follows it, of `LARGEST` bytes
        from the beginning or to the end.
    """
    with artifact.open() as stream:
        end = None
        if length is not None and stream.seekable():
            end = _end_from_behind(stream, line, length)
            begin = max(0, (end or 0) - BEFORE)
            stream.seek(begin)
        if end is None:
            begin, data = 0, stream.read(LARGEST)
            end = end_of(data, line)
            if end is None:
                return None
        else:
            data = stream.read(end - begin + LARGEST)
    end -= begin
    first = max(0, end - BEFORE)
    if begin + first > 0:
        first = data.find(b"\n", first) + 1
    return Around(data[first:end], data[end:])


def _end_from_behind(stream: IO[bytes], line: int, length: Length) -> int | None:
    """Where a line ends, if that is in the last `LARGEST` bytes."""
    left = length.newlines - line + 1
    """Line ends from its own to the last."""
    high, size = length.size, _PIECE
    if left < 1 or line < 1:
        return None
    while high > max(0, length.size - LARGEST):
        low = max(0, high - size)
        stream.seek(low)
        piece = stream.read(high - low)
        found = piece.count(b"\n")
        if found >= left:
            return low + len(piece.rsplit(b"\n", left)[0]) + 1
        left -= found
        high, size = low, min(2 * size, 4 << 20)
    return None


def end_of(data: bytes, line: int) -> int | None:
    """Where a line ends in the beginning of an artifact."""
    end, left = 0, line
    while (found := data.count(b"\n", end, end + _PIECE)) < left:
        end, left = end + _PIECE, left - found
        if end >= len(data):
            return None
    for _ in range(left):
        end = data.find(b"\n", end) + 1
    return end
