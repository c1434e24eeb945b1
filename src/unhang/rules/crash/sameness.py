"""Whether a failure is that of one rank, or of so many that none of them is special."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import ProcessEnded, PythonException
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Failure, Incident, ranks_of

_PRINTS_OF_ONE = 2
"""A process prints its traceback at most twice: itself, and by the parent that reports it."""


def special_ranks(incident: Incident, same: Sequence[Failure], count: int) -> Ranks:
    """Return the ranks that failed in one way, or none where that accuses nobody.

    Args:
        incident: what else is known of the job.
        same: the failures that are alike.
        count: how many processes failed so, named or not.
    """
    ranks = frozenset(r for r in ranks_of(same) if r >= Rank(0))
    known = ranks | incident.gave_up | frozenset(incident.roster)
    # Ranks are counted from 0: whoever fails as rank 14 has fourteen others beside it.
    counted = max(map(int, known), default=-1) + 1
    size = incident.world.size or max(counted, len(known) + incident.gave_up_unnamed)
    nameless = count - len(ranks)
    if nameless > len(ranks):
        return NO_RANKS
    # At most one nameless failure for each rank: its own second print, by a logger or a parent.
    return NO_RANKS if len(ranks) > 1 and 2 * len(ranks) > size else ranks


def failed_in_program(failure: Failure) -> bool:
    """Whether the stack of a crash shows the program's own code."""
    return any(isinstance(e, ProcessEnded) and e.in_program for e in failure.events)


def count_nameless(failure: Failure, exception: PythonException) -> int:
    """How many tracebacks that name nobody were counted as this one process."""
    prints = [
        e
        for e in failure.events
        if isinstance(e, PythonException)
        and e.exception == exception.exception
        and not e.chained
        and e.origin.rank is None
        and e.origin.local_rank is None
    ]
    return len(prints) if len(prints) > _PRINTS_OF_ONE else 1
