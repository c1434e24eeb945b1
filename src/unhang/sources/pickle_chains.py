"""Whether a pickle seems to make tuples of tuples of tuples, told from its bytes alone.

The hash of a tuple visits its items, and theirs. Where each level holds the one below it twice, a
hash visits two to the power of the depth, and C's unpickler hashes every key of a dictionary: three
hundred bytes keep it busy for years. Recorders write tuples of two texts.

This is a net, not a proof: whoever fills up each level with opcodes that do nothing slips through,
and keeps the reader busy until it is killed. A proof would have to read every opcode, which takes
longer than loading the file.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from operator import sub

from unhang import lazy_re as re

MOST = 16
"""So many levels may be: a hash of two to the power of them is cheap."""

_KEPT = re.compile(
    rb"[\x85-\x87t]"
    rb"(?:(?<=h(.).)|(?<=j(.{4}).)|)"
    rb"(?:(?<=h(.)h..)|(?<=j(.{4})j.{4}.)|(?<=h(.)j.{4}.)|(?<=j(.{4})h..)|)"
    rb"(?:q(.)|r(.{4})|(\x94))",
    re.DOTALL,
)
"""A tuple made and kept: where its last items come from, then the place it goes to."""
_DOUBLED = (b"2\x85", b"2\x86", b"2\x87")
_MAKES = (b"\x86", b"\x87")
_MAKES_WIDE = (b"tq", b"tr")
_WIDE = re.compile(rb"\((?:h.|j.{4}){3,500}t[qr\x94]", re.DOTALL)
"""A tuple of many kept things; a few levels of such are enough."""
_SMALL = 64 << 10
"""Bytes of a file that is looked at twice: a chain needs few, and large files must be read fast."""
_SPAN = 32
"""Bytes of one level, at most: the calls that a recorder writes are longer."""


def may_chain(data: bytes) -> bool:
    """Whether many tuples are made of tuples, close to each other."""
    makes: tuple[bytes, ...] = _MAKES
    if len(data) <= _SMALL:
        if _WIDE.search(data) is not None:
            return True
        makes = (*_MAKES, *_MAKES_WIDE)
    return any(_is_dense(data, mark) for mark in makes) and levels(data) > MOST


def _is_dense(data: bytes, mark: bytes) -> bool:
    """Whether a mark comes many times within the bytes of so many levels; cheap."""
    ends = list(accumulate(map(len, data.split(mark))))
    return len(ends) > MOST and min(map(sub, ends[MOST:], ends)) < MOST * _SPAN


def levels(data: bytes) -> int:
    """How many tuples seem to be made of tuples that were kept, or doubled."""
    doubled = sum(data.count(mark) for mark in _DOUBLED)
    kept = _KEPT.findall(data)
    if not kept:
        return doubled
    *fetched, short, long, unnumbered = zip(*kept, strict=True)
    places = {_place(number) for column in (short, long) for number in set(column)} - {b""}
    counts = Counter(number for column in fetched for number in column if number)
    again = sum(count for number, count in counts.items() if _place(number) in places)
    # Later protocols do not say the place: any of these tuples may be made of tuples.
    return doubled + again + sum(map(len, unnumbered))


def _place(number: bytes) -> bytes:
    """A place in the memo, whether one byte or four say it."""
    return number[:1] + number[1:].rstrip(b"\0")
