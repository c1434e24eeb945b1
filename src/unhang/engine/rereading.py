"""The part of an artifact around the end of one of its lines, read once more.

Trouble stands at the end of most logs, and a thousand of them hold gigabytes before it: a file
whose length is known is read from its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple

from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length
from unhang.sources.clean import clean

LARGEST = 64 << 20
"""Bytes that are read once more, most of them only to count lines."""
AFTER = 16 << 20
"""Bytes that are kept behind the end of the line."""
BEFORE = 1 << 20
"""Bytes before the end of the line, of which the first line is whole."""
_PIECE = 64 << 10
_STRIDE = 1 << 20


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
        `BEFORE` bytes at most before the end, whole lines, and `AFTER` bytes at most behind it,
        if it lies within `LARGEST` bytes of the beginning or of the end.
    """
    with artifact.open() as stream:
        end = None
        if length is not None and stream.seekable():
            end = _end_from_behind(stream, line, length)
            begin = max(0, (end or 0) - BEFORE)
            stream.seek(begin)
        if end is None:
            found = _passed(stream, line)
            if found is None:
                return None
            before, rest, whole = found
        else:
            before, rest, whole = stream.read(end - begin), b"", begin == 0
        after = rest[:AFTER] + stream.read(max(0, AFTER - len(rest)))
    if not whole:
        before = before[before.find(b"\n") + 1 :]
    return Around(before, after)


def _passed(stream: IO[bytes], line: int) -> tuple[bytes, bytes, bool] | None:
    """What stands before the end of a line and was read behind it; and whether that is all."""
    before = bytearray()
    left, whole = line, True
    for piece in _pieces(stream):
        parts = piece.split(b"\n", left)
        rest = parts[-1] if len(parts) > left else b""
        before += piece[: len(piece) - len(rest)]
        if len(before) > BEFORE:
            whole = False
            del before[:-BEFORE]
        if len(parts) > left:
            return bytes(before), rest, whole
        left -= len(parts) - 1
    return None if left else (bytes(before), b"", whole)


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """The first `LARGEST` bytes, not all at once."""
    left = LARGEST
    while left > 0 and (piece := stream.read(min(_STRIDE, left))):
        left -= len(piece)
        yield piece


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


def text_of(line: bytes, longest: int) -> str:
    """The first signs of a line as parsers see them."""
    return clean(line[:longest].decode("utf-8", "replace"))


def lines_of(stream: IO[bytes], longest: int) -> Iterator[bytes]:
    """Yield the lines in the first `LARGEST` bytes, each cut to its first bytes."""
    rest = b""
    for piece in _pieces(stream):
        *whole, rest = (rest[:longest] + piece).split(b"\n")
        yield from (line[:longest] for line in whole)
    if rest:
        yield rest[:longest]
