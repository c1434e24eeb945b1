"""Identities that must not be mixed: global rank, rank in a group, rank on a host, sequence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NewType

Rank = NewType("Rank", int)
"""Global rank in the job."""

GroupRank = NewType("GroupRank", int)
"""Rank within one process group."""

LocalRank = NewType("LocalRank", int)
"""Index of a process on its host."""

GroupId = NewType("GroupId", str)
"""Name (GUID) of a process group: the same on every rank, unlike the per-process `PG ID`."""

SeqId = NewType("SeqId", int)
"""`collective_seq_id` of a call in its process group."""

Ranks = frozenset[Rank]
"""A set of global ranks."""

NO_RANKS: Ranks = frozenset()

_RANGES = re.compile(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*")
_MOST_RANKS = 1 << 20
"""A forged range must not fill the memory."""


def format_ranks(ranks: Iterable[int]) -> str:
    """Print a set of ranks as ranges.

    This is the only function that prints ranks.

    >>> format_ranks([0, 1, 2, 5, 7, 8])
    '0-2,5,7-8'
    >>> format_ranks([])
    ''
    """
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def parse_ranks(text: str) -> Ranks:
    """The inverse of `format_ranks`.

    Raises:
        ValueError: the text is no list of ranges.

    >>> sorted(parse_ranks("0-2,5"))
    [0, 1, 2, 5]
    """
    if not text:
        return NO_RANKS
    if _RANGES.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is no list of ranks such as '0-3,5'")
    found: set[Rank] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if len(found) + len(span) > _MOST_RANKS:
            raise ValueError(f"{text[:40]!r} has more than {_MOST_RANKS} ranks")
        found.update(Rank(number) for number in span)
    return frozenset(found)
