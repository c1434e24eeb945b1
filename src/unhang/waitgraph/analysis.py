"""What the waits of a snapshot come to: their ends, cycles, and what nobody can tell yet."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_

from unhang.model.ids import NO_RANKS, ManyRanks, Ranks
from unhang.model.stack_states import Doing
from unhang.model.waits import (
    Analysis,
    Life,
    RankState,
    Snapshot,
    Undecided,
    WaitCycle,
    WaitEnd,
    WitnessKind,
)
from unhang.waitgraph.graph import WaitGraph

_MOST_CHAINS = 64
"""Ranks at the ends whose chain is told whole; the others' is the call that they lack."""

_DECISIVE = (WitnessKind.RECORDER, WitnessKind.STACK, WitnessKind.LOG)
"""Witnesses that can be asked for after a job has ended, the one that decides most first."""


def analyse(snapshot: Snapshot, graph: WaitGraph | None = None) -> Analysis:
    """Follow the waits to their ends.

    A rank is at an end where a call is known to need it and it waits for nobody. One of which
    nothing is known is never an end: it is told in `undecided`, and only where no end and no cycle
    explains the wait.

    Args:
        snapshot: what is known.
        graph: of its waits, where the caller has it.
    """
    graph = graph or WaitGraph(snapshot.waits)
    kept = NO_RANKS.union(*(wait.keeping for wait in snapshot.waits))
    waiting = graph.waiting | _waits_unseen(snapshot.states)
    ends = (kept - waiting) | (kept & _cannot_wait(snapshot))
    cycles = graph.cycles()
    explained = _explained(graph, ends, cycles)
    return Analysis(
        snapshot=snapshot,
        held_up=graph.held_up - ends,
        ends=tuple(_ends(graph, ends)),
        cycles=tuple(_cycles(graph, cycles, ends)),
        together=tuple(w for w in snapshot.waits if not (w.awaited or w.held or w.unknown)),
        undecided=_undecided(graph, explained, waiting),
    )


def _waits_unseen(states: Collection[RankState]) -> Ranks:
    """Ranks that wait for others in a call which is in no wait of the snapshot."""
    return NO_RANKS.union(*(s.ranks for s in states if s.activity is Doing.WAITS))


def _cannot_wait(snapshot: Snapshot) -> Ranks:
    """Ranks at an end whatever call of theirs is open."""
    over = {Life.GONE, Life.LEFT}
    return NO_RANKS.union(*(s.ranks for s in snapshot.states if s.stalled or s.life in over))


def _ends(graph: WaitGraph, ranks: Ranks) -> list[WaitEnd]:
    found = []
    for number, rank in enumerate(sorted(ranks)):
        lacks = tuple(graph.waits[index] for index in graph.kept_by[rank])
        chain = lacks[:1]
        if number < _MOST_CHAINS:
            chain = tuple(graph.waits[index] for index in graph.chain(rank))
        found.append(WaitEnd(rank=rank, lacks=lacks, chain=chain))
    return found


def _explained(graph: WaitGraph, ends: Ranks, cycles: list[list[int]]) -> frozenset[int]:
    """Waits that lead to an end or to a cycle."""
    first = {index for rank in ends for index in graph.kept_by[rank]}
    first.update(index for cycle in cycles for index in cycle)
    return frozenset(graph.above(sorted(first)))


def _cycles(graph: WaitGraph, parts: list[list[int]], ends: Ranks) -> list[WaitCycle]:
    found = []
    to_ends = graph.above(sorted({index for rank in ends for index in graph.kept_by[rank]}))
    unseen = [index for index, wait in enumerate(graph.waits) if wait.unknown]
    to_unknown = graph.above(unseen)
    for part in parts:
        waits = tuple(graph.waits[index] for index in part)
        largest = max(waits, key=lambda wait: len(wait.waiters))
        kept = NO_RANKS.union(*(wait.keeping for wait in waits))
        waiting = NO_RANKS.union(*(wait.held_up for wait in waits))
        few = largest.keeping & waiting
        found.append(
            WaitCycle(
                waits=waits,
                ranks=waiting & kept,
                few=few if len(few) < len(largest.waiters) else NO_RANKS,
                leads_out=any(index in to_ends or index in to_unknown for index in part),
            )
        )
    return sorted(found, key=lambda cycle: (-len(cycle.ranks), min(cycle.ranks)))


def _undecided(graph: WaitGraph, explained: frozenset[int], waiting: Ranks) -> Undecided | None:
    """Waits that only unknown ranks can explain.

    A call that one of these keeps open, and nobody else, needs it; where such ranks explain all of
    the waits, the others need not be asked.
    """
    left = [
        index
        for index, wait in enumerate(graph.waits)
        if index not in explained and (wait.awaited or wait.held or wait.unknown)
    ]
    waits = [graph.waits[index] for index in left]
    kept = NO_RANKS.union(*(wait.keeping for wait in graph.waits))
    unknown: ManyRanks = reduce(or_, (wait.unknown for wait in waits), NO_RANKS)
    ranks = unknown - waiting - kept
    if not ranks:
        return None
    sole = (wait.unknown for wait in waits if len(wait.unknown) == 1 and not wait.keeping)
    alone = frozenset(rank for one in sole for rank in one if rank in ranks)
    needing = graph.above(
        index for index in left if any(rank in graph.waits[index].unknown for rank in alone)
    )
    told = {t.kind for wait in waits for t in wait.witnesses}
    return Undecided(
        waits=tuple(waits),
        ranks=alone if alone and all(index in needing for index in left) else ranks,
        lacking=tuple(w for w in _DECISIVE if w not in told) or _DECISIVE[:1],
    )
