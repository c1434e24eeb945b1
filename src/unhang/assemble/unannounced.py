"""From what one artifact tells of a run to the runs it really holds, where nobody says so.

Three signs: an agent of torchrun says of each start that a rank failed (that it restarts is below
the level that it logs at); work begins anew after a launcher gave up (`train.sh >> train.log`); and
ranks introduce themselves again after an end, in the same words (a job that was requeued).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import (
    Event,
    ProcessEnded,
    Progress,
    Reporter,
    Restarted,
    StopSeen,
    WorldSeen,
)
from unhang.model.events.lifecycle import STATES_OF_WORK

_LAUNCHERS = frozenset(
    {
        Reporter.ELASTIC,
        Reporter.ELASTIC_TABLE,
        Reporter.SPAWN,
        Reporter.DEEPSPEED,
        Reporter.COMPOSER,
        Reporter.LIGHTNING,
    }
)
"""Who ends all ranks of its host before it says that one ended."""
_AGENT = Reporter.ELASTIC
"""It says so of every start; when it gives up for good, a table follows."""


class _Cut(NamedTuple):
    """A run ends before `place`; `by_agent`: the same launcher began the next one."""

    place: int
    by_agent: bool


def split_unannounced(run: Sequence[Event]) -> list[list[Event]]:
    """Split what one artifact tells; a start by the same agent begins with a `Restarted`."""
    found = (*_where_ranks_came_anew(run), *_where_work_began_anew(run))
    cuts = {cut.place: cut for cut in (*found, *_between_two_failures(run))}
    parts = [list(run[a:b]) for a, b in pairwise([0, *sorted(cuts), len(run)])]
    for place, part in zip(sorted(cuts), parts[1:], strict=True):
        if cuts[place].by_agent:
            end = run[place - 1]
            part.insert(0, Restarted(source=end.source, origin=end.origin, at=end.at))
    return parts


_DIGITS = re.compile(r"\d+")


def _where_ranks_came_anew(run: Sequence[Event]) -> Iterator[_Cut]:
    """Before a rank that introduces itself as it did before the job was stopped or a process ended.

    Who stops a job from outside may start it again; what else begins anew is another attempt.
    """
    known: set[tuple[object, ...]] = set()
    end: Event | None = None
    for place, event in enumerate(run):
        if isinstance(event, StopSeen) or (isinstance(event, ProcessEnded) and not event.worker):
            end = event
        elif isinstance(event, WorldSeen) and event.rank is not None and not event.listed:
            says = event.rank, event.world_size, _DIGITS.sub("#", event.source.text)
            if end is not None and says in known:
                yield _Cut(place, isinstance(end, StopSeen))
                known, end = set(), None
            known.add(says)


def _between_two_failures(run: Sequence[Event]) -> Iterator[_Cut]:
    """After what an agent said of one child, where it later speaks of another."""
    told: dict[tuple[str | None, int], tuple[int, int | None]] = {}
    for place, event in enumerate(run):
        if not isinstance(event, ProcessEnded) or event.reporter is not _AGENT:
            continue
        if event.origin.pid is None:
            continue
        agent = (event.origin.host, event.origin.pid)
        before = told.get(agent)
        if before is not None and before[1] != event.pid:
            yield _Cut(before[0], by_agent=True)
            told.clear()  # the agents of the other nodes restarted as well
        told.setdefault(agent, (place + 1, event.pid))


def _where_work_began_anew(run: Sequence[Event]) -> Iterator[_Cut]:
    """After a launcher gave up, where the count of steps begins at or below where it had been.

    Where an artifact tells of several hosts, those of the others may still work.
    """
    if len({event.origin.host for event in run} - {None}) > 1:
        return
    reached: dict[str, int] = {}
    given_up: int | None = None
    states: set[int] = set()
    for place, event in enumerate(run):
        if isinstance(event, ProcessEnded) and event.reporter in _LAUNCHERS and not event.worker:
            given_up, states = place + 1, set()
        elif isinstance(event, Progress):
            if given_up is not None and (states or event.done <= reached.get(event.label, 0)):
                states.add(event.done)
            if given_up is not None and len(states) >= STATES_OF_WORK:
                last = run[given_up - 1]
                yield _Cut(given_up, isinstance(last, ProcessEnded) and last.reporter is _AGENT)
                given_up, reached = None, {}
            reached[event.label] = event.done
