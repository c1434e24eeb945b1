"""Identities that must not be mixed: global rank, rank in a group, rank on a host, sequence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NewType, TypeAlias

from unhang import lazy_re as re

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

ManyRanks: TypeAlias = AbstractSet[Rank]
"""Ranks out of a job whose size is only claimed: a `RankSpans` where they may be very many."""

MOST_RANKS = 1 << 17
"""The largest jobs have fewer; a size that is claimed and not believed costs nothing."""
_MOST_LISTED = 1 << 20
"""A forged range must not fill the memory."""

_RANGES = re.compile(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*")
_Span = tuple[int, int]


class RankSpans(AbstractSet[Rank]):
    """A set of ranks that holds ranges instead of ranks: a million silent ranks cost one pair.

    >>> RankSpans.below(8) - {2, 3}
    RankSpans('0-1,4-7')
    """

    __slots__ = ("_begins", "spans")

    def __init__(self, spans: Iterable[_Span] = ()) -> None:
        self.spans = tuple(spans)
        """Pairs of a first rank and the one behind the last, in order and apart."""
        self._begins = [begin for begin, _ in self.spans]

    @classmethod
    def below(cls, size: int) -> RankSpans:
        """All ranks of a job of this size."""
        return cls([(0, size)] if size > 0 else [])

    @classmethod
    def of(cls, ranks: Iterable[int]) -> RankSpans:
        """Just these ranks."""
        if isinstance(ranks, RankSpans):
            return ranks
        return cls(_joined((rank, rank + 1) for rank in ranks))

    def __contains__(self, rank: object) -> bool:
        if not isinstance(rank, int):
            return False
        at = bisect_right(self._begins, rank) - 1
        return at >= 0 and rank < self.spans[at][1]

    def __iter__(self) -> Iterator[Rank]:
        return (Rank(rank) for begin, end in self.spans for rank in range(begin, end))

    def __len__(self) -> int:
        return sum(end - begin for begin, end in self.spans)

    def __repr__(self) -> str:
        return f"RankSpans({format_ranks(self)!r})"

    def __or__(self, other: Iterable[object]) -> RankSpans:
        if not isinstance(other, RankSpans):
            other = RankSpans.of(rank for rank in other if isinstance(rank, int))
        return RankSpans(_joined([*self.spans, *other.spans]))

    def __sub__(self, other: Iterable[int]) -> RankSpans:
        return RankSpans(_without(self.spans, RankSpans.of(other).spans))

    def __and__(self, other: Iterable[int]) -> RankSpans:
        return self - (self - other)

    def __rsub__(self, other: Iterable[Rank]) -> Ranks:
        return frozenset(rank for rank in other if rank not in self)

    def __rand__(self, other: Iterable[Rank]) -> Ranks:
        return frozenset(rank for rank in other if rank in self)

    __ror__ = __or__


def _joined(spans: Iterable[_Span]) -> list[_Span]:
    """Spans in order and apart, from any."""
    found: list[_Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _without(spans: Sequence[_Span], gone: Sequence[_Span]) -> Iterator[_Span]:
    """What is left of `spans`, both in order and apart."""
    at = 0
    for begin, end in spans:
        while at < len(gone) and gone[at][1] <= begin:
            at += 1
        following = at
        while following < len(gone) and gone[following][0] < end:
            if begin < gone[following][0]:
                yield begin, gone[following][0]
            begin = gone[following][1]  # noqa: PLW2901 (what is left of the span)
            following += 1
        if begin < end:
            yield begin, end


def format_ranks(ranks: Iterable[int]) -> str:
    """Print a set of ranks as ranges.

    This is the only function that prints ranks.

    >>> format_ranks([0, 1, 2, 5, 7, 8])
    '0-2,5,7-8'
    >>> format_ranks([])
    ''
    """
    spans = RankSpans.of(ranks).spans
    return ",".join(str(a) if a == b - 1 else f"{a}-{b - 1}" for a, b in spans)


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
        raise ValueError(f"{text[:40]!r} is not a list of ranks such as '0-3,5'")
    found: set[Rank] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if len(found) + len(span) > _MOST_LISTED:
            raise ValueError(f"{text[:40]!r} has more than {_MOST_LISTED} ranks")
        found.update(Rank(number) for number in span)
    return frozenset(found)
