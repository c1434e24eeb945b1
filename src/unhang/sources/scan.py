"""The multi-pattern scan: from a piece of a file to the places where literal texts end.

Hyperscan does it at the speed of memory when it is installed (`pip install unhang[fast]`), else an
Aho-Corasick automaton; a small one does it in small jobs, for it is ready at once. Where neither
can be had, the lines are masked (every digit is a `0`), which leaves few different ones in a
healthy log, and each different one is searched only once. All find the same places.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

from unhang import lazy_re as re

Hit = tuple[int, int]
"""Where a needle ends (an offset), and its index."""

Bytes = bytes | bytearray
_MASK = bytes.maketrans(b"0123456789\r", b"0000000000\n")
_MOST_SHAPES = 20_000
_LONGEST_SHAPE = 2_000
MUCH = 16 << 20
"""Bytes from which the fastest scanner pays."""
_HEAD = 4
"""Needles are told apart by so many of their first bytes before they are compared."""


class Scanner(Protocol):
    """Finds needles."""

    def hits(self, data: Bytes, begin: int, end: int) -> list[Hit]:
        """Every place within `data[begin:end]` where a needle ends, in order."""


def scanner(needles: Sequence[bytes], *, plain: bool = False) -> Scanner:
    """The scanner that is ready soonest, and the fastest that can be had once there is much.

    Args:
        needles: what to find; no empty text, and no NUL or line end in any.
        plain: do without compiled libraries even when they are installed.
    """
    if not plain and needles:
        with contextlib.suppress(ImportError):
            return GrowingScanner(needles)
    return PlainScanner(needles) if plain else fastest(needles)


def fastest(needles: Sequence[bytes]) -> Scanner:
    """The fastest scanner that can be had; it takes a tenth of a second to build."""
    if needles:
        with contextlib.suppress(ImportError):
            return HyperscanScanner(needles)
        with contextlib.suppress(ImportError):
            return AhoCorasickScanner(needles)
    return PlainScanner(needles)


class GrowingScanner:
    """A small automaton, until so much has been searched that the fastest scanner pays."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        self._needles = needles
        self._scanner: Scanner = AhoCorasickScanner(needles, small=True)
        self._left = MUCH

    def hits(self, data: Bytes, begin: int, end: int) -> list[Hit]:
        """Every place within `data[begin:end]` where a needle ends, in order."""
        self._left -= end - begin
        if self._left < 0:
            self.grow()
        return self._scanner.hits(data, begin, end)

    def grow(self) -> bool:
        """Get ready for much, and say whether that took anything."""
        grows = isinstance(self._scanner, AhoCorasickScanner) and self._scanner.small
        if grows:
            self._scanner = fastest(self._needles)
        return grows


class HyperscanScanner:
    """Scanner over Intel's Hyperscan (Vectorscan on ARM)."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        import hyperscan

        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=list(needles),
            ids=list(range(len(needles))),
            elements=len(needles),
            flags=0,
            literal=True,
        )
        self._given: Callable[[memoryview], object] = memoryview
        try:
            self.hits(bytearray(1), 0, 1)
        except TypeError:  # a release that takes bytes alone
            self._given = bytes

    def hits(self, data: Bytes, begin: int, end: int) -> list[Hit]:
        """Every place within `data[begin:end]` where a needle ends, in order."""
        found: list[Hit] = []

        def on_match(needle: int, _start: int, stop: int, _flags: int, _context: object) -> None:
            found.append((begin + stop, needle))

        with memoryview(data) as whole, whole[begin:end] as piece:
            self._database.scan(cast("bytes", self._given(piece)), match_event_handler=on_match)
        found.sort()
        return found


class AhoCorasickScanner:
    """Scanner over the automaton of `ahocorasick_rs`."""

    def __init__(self, needles: Sequence[bytes], *, small: bool = False) -> None:
        import ahocorasick_rs

        # The large kind is up to twice as fast, and takes ten times as long to build.
        kinds = ahocorasick_rs.Implementation
        self.small = small
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            needles, implementation=kinds.ContiguousNFA if small else kinds.DFA
        )

    def hits(self, data: Bytes, begin: int, end: int) -> list[Hit]:
        """Every place within `data[begin:end]` where a needle ends, in order."""
        with memoryview(data) as whole, whole[begin:end] as piece:
            matches = self._automaton.find_matches_as_indexes(piece, overlapping=True)
        return sorted((begin + stop, needle) for needle, _, stop in matches)


class PlainScanner:
    """Scanner in pure Python; remembers which shapes of lines hold nothing."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        self._needles = tuple(needles)
        self._any = re.compile(_alternatives(needle.translate(_MASK) for needle in needles))
        self._empty: set[bytes] = set()
        self._head = min(_HEAD, *map(len, needles)) if needles else 0
        self._by_head: dict[bytes, list[tuple[int, bytes]]] = {}
        for index, needle in enumerate(needles):
            head = needle[: self._head].translate(_MASK)
            self._by_head.setdefault(head, []).append((index, needle))

    def hits(self, data: Bytes, begin: int, end: int) -> list[Hit]:
        """Every place within `data[begin:end]` where a needle ends, in order."""
        if not self._needles:
            return []
        lines = bytes(data[begin:end]).translate(_MASK).split(b"\n")
        telling = self._telling(set(lines))
        found: list[Hit] = []
        if telling:
            position = begin
            for line in lines:
                if line in telling:
                    found.extend(self._exact(data, position, line))
                position += len(line) + 1
            found.sort()
        return found

    def _telling(self, shapes: set[bytes]) -> set[bytes]:
        """The shapes that may hold a needle; the others are remembered."""
        new = shapes - self._empty
        telling = {shape for shape in new if self._any.search(shape) is not None}
        if len(self._empty) > _MOST_SHAPES:
            self._empty.clear()
        self._empty.update(s for s in new if len(s) <= _LONGEST_SHAPE and s not in telling)
        return telling

    def _exact(self, data: Bytes, begin: int, shape: bytes) -> Iterator[Hit]:
        line = bytes(data[begin : begin + len(shape)])
        match = self._any.search(shape)
        while match is not None:
            at = match.start()
            for index, needle in self._by_head[shape[at : at + self._head]]:
                if line.startswith(needle, at):
                    yield begin + at + len(needle), index
            match = self._any.search(shape, at + 1)


_Trie = dict[int, "_Trie"]


def _alternatives(words: Iterator[bytes]) -> bytes:
    """A pattern that matches where any of the words begins; common beginnings are shared."""
    root: _Trie = {}
    ends: set[int] = set()
    for word in words:
        node = root
        for byte in word:
            node = node.setdefault(byte, {})
        ends.add(id(node))
    return _pattern(root, ends)


def _pattern(node: _Trie, ends: set[int]) -> bytes:
    if id(node) in ends:  # a shorter word is enough
        return b""
    branches = [re.escape(bytes([byte])) + _pattern(below, ends) for byte, below in node.items()]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
