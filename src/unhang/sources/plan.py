"""What all readers together want, prepared for the scan."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from unhang.sources.scan import GrowingScanner, Scanner, scanner

_TELLING = 3
"""Bytes from which a needle is searched everywhere: with a shorter one among them Hyperscan takes
twice as many steps for all, and what it tells (a prompt, a break, a remark) stands near others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The texts that one reader asks for; see `parsers.base.Parser` for the meaning.

    Attributes:
        needles: what to find.
        before: lines before a rare hit that are looked at: its message may begin there, or a text
            that shows it.
        after: lines after a hit that the reader is given.
        sampled: the needles are frequent in healthy logs.
    """

    needles: tuple[str, ...]
    before: int = 3
    after: int = 0
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class Searched:
    """Needles of one kind, who wants each, and how to find them."""

    scanner: Scanner
    needles: tuple[bytes, ...]
    readers: tuple[frozenset[int], ...]
    longest: int


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """What all readers together want."""

    rare: Searched
    frequent: Searched
    before: tuple[int, ...]
    after: tuple[int, ...]

    def expect_much(self) -> bool:
        """Prepare for much, and say whether that took anything."""
        scanners = (self.rare.scanner, self.frequent.scanner)
        grown = [s.grow() for s in scanners if isinstance(s, GrowingScanner)]
        return any(grown)


@functools.lru_cache(maxsize=4)
def plan(wanted: tuple[Wanted, ...], *, plain: bool = False) -> ScanPlan:
    """Prepare the scan; `plain` does without compiled libraries."""
    return ScanPlan(
        rare=_searched(wanted, sampled=False, plain=plain),
        frequent=_searched(wanted, sampled=True, plain=plain),
        before=tuple(want.before for want in wanted),
        after=tuple(want.after for want in wanted),
    )


def _searched(wanted: Sequence[Wanted], *, sampled: bool, plain: bool) -> Searched:
    readers: dict[bytes, set[int]] = {}
    for index, want in enumerate(wanted):
        for needle in map(str.encode, want.needles):
            if (want.sampled or len(needle) < _TELLING) is sampled:
                readers.setdefault(needle, set()).add(index)
    needles = sorted(readers)
    return Searched(
        scanner(needles, plain=plain),
        tuple(needles),
        tuple(frozenset(readers[needle]) for needle in needles),
        max(map(len, needles), default=1),
    )
