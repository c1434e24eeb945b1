"""Which ranks did something else than they, and all others, usually do.

Programs repeat themselves. Where ranks wait for each other in a circle, or two issued different
calls, the one that left its habit shortly before is the odd one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from unhang.assemble.recorder.open_calls import CallKey, OpenCalls
from unhang.assemble.recorder.process_groups import Recordings
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.recording import Recording

_RECENT = 48
"""Calls before the end in which a change may have stopped the job."""

_HABIT = 2
"""Times that something else must have followed before."""

_BEFORE = (1, 2)
"""Moves before one that may tell what follows: two tell it where a group is used twice a step."""

Step = tuple[int, ...]
"""Some moves, and the next."""


def find_unusual(recordings: Recordings, candidates: Ranks) -> Ranks:
    """Those few of the candidates whose last calls came in an order that nobody else knows."""
    steps = {id(r.course): frozenset(_steps(r.course)) for r in recordings.values()}
    known = Counter(step for r in recordings.values() for step in steps[id(r.course)])
    unusual: set[Rank] = set()
    breaks = {id(r.course): _breaks(r.course) for r in _of(recordings, candidates)}
    for rank in candidates & recordings.keys():
        new = breaks[id(recordings[rank].course)]
        if any(4 * (known[step] - 1) < len(recordings) - 1 for step in new):
            unusual.add(rank)
    return frozenset(unusual) if 2 * len(unusual) <= len(candidates) else NO_RANKS


def _of(recordings: Recordings, ranks: Ranks) -> Iterable[Recording]:
    return (recordings[rank] for rank in ranks if rank in recordings)


def _breaks(course: Sequence[int]) -> frozenset[Step]:
    """Steps near the end that came once, from a move that something else used to follow."""
    counts = Counter(_steps(course))
    leaving: Counter[Step] = Counter()
    for step, times in counts.items():
        leaving[step[:-1]] += times
    return frozenset(
        step
        for step in _steps(course[-_RECENT:])
        if counts[step] == 1 and leaving[step[:-1]] > _HABIT
    )


def _steps(course: Sequence[int]) -> Iterator[Step]:
    """Every move with those before it."""
    for before in _BEFORE:
        yield from zip(*(course[i:] for i in range(before + 1)), strict=False)


def find_out_of_count(calls: OpenCalls, candidates: Ranks) -> Ranks:
    """Those few of the candidates that came to a call after fewer or more others than the rest.

    Ranks that stand in one call have issued as many calls in each kind of group.
    """
    standing: dict[CallKey, list[Rank]] = {}
    for rank, first in calls.first.items():
        standing.setdefault(first.key, []).append(rank)
    odd: set[Rank] = set()
    for ranks in standing.values():
        counts = {rank: calls.counts(rank) for rank in ranks}
        usual, times = Counter(counts.values()).most_common(1)[0]
        if times > 2 * (len(ranks) - times):
            odd.update(rank for rank in ranks if counts[rank] != usual)
    found = odd & candidates
    return frozenset(found) if 2 * len(found) <= len(candidates) else NO_RANKS
