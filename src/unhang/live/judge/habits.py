"""Which of some ranks that wait for each other did something else than they always did.

Each probe tells whether the last calls of its rank followed on those before as they always had.
What one alone did is its own; what the others did as well was due, and who did not is the odd one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.live.judge.track import Track
from unhang.live.messages.reports import Course
from unhang.model.ids import NO_RANKS, Rank, Ranks

_PEER = re.compile(r"\(\w+=\d+\)")
"""The other rank in the text of a call, which may rightly be another one for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strayed:
    """Who did not do what was due.

    Attributes:
        move: the call that they issued, or that all others did.
        due: what always came next so far; "" = they alone have not issued `move`.
    """

    ranks: Ranks = NO_RANKS
    move: str = ""
    due: str = ""


def strayed(among: Ranks, tracks: Mapping[Rank, Track]) -> Strayed:
    """Those of some ranks that left their habit; nobody where that does not tell them apart.

    Args:
        among: ranks that wait for each other.
        tracks: the present process of each rank whose host is heard.
    """
    told = {r: t.beat.course for r, t in tracks.items() if t.beat.course is not None}
    off = {rank: told[rank] for rank in among & told.keys() if not told[rank].fits}
    if not off or off.keys() == among:
        return Strayed()
    first = off[min(off)]
    if 2 * _alike(first, told.values()) > len(tracks):
        return Strayed(ranks=among - off.keys(), move=_unnamed(first.move))
    if 2 * len(off) > len(among):
        return Strayed()
    return Strayed(ranks=frozenset(off), move=first.move, due=first.due)


def _alike(course: Course, of_all: Iterable[Course]) -> int:
    """How many left their habit for the same call."""
    move = _unnamed(course.move)
    return sum(not other.fits and _unnamed(other.move) == move for other in of_all)


def _unnamed(move: str) -> str:
    return _PEER.sub("", move)
