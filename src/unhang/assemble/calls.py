"""From time-outs and counters to calls: who joined, who is absent, who went past, who is silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypedDict

from unhang.assemble.identity import Identity
from unhang.assemble.run import Run
from unhang.model.events import (
    CollectiveTimeout,
    DesyncReported,
    GroupRef,
    GroupStatus,
)
from unhang.model.ids import NO_RANKS, Rank, Ranks, SeqId
from unhang.model.incident import Call, CallSide, Join
from unhang.model.provenance import Provenance
from unhang.model.time import Instant


class _Key(NamedTuple):
    """What makes two time-outs one call: the group as far as it is comparable, and the number."""

    group: str | None
    seq: SeqId | None


_Joins: TypeAlias = dict[_Key, dict[Rank, Join]]

_MOST_CALLS = 32
"""So many sequence numbers at which ranks of one group give up are no hang of one group."""


def find_calls(run: Run, seen: Ranks) -> tuple[Call, ...]:
    """Return the calls in which a rank timed out, in the order in which they were given up."""
    identity = run.identity
    timeouts, statuses = run.all(CollectiveTimeout), run.all(GroupStatus)
    groups = _Groups(timeouts, statuses, identity)
    counters: dict[tuple[SeqId | None, Rank | None], GroupStatus] = {}
    for status in statuses:
        counters.setdefault((status.failed, _speaker(status, identity)), status)
    joins: _Joins = {}
    unnamed: dict[_Key, list[CallSide]] = {}
    refs: dict[_Key, GroupRef | None] = {}
    for event in timeouts:
        ref = groups.of(event)
        key = _Key(group_name(ref), event.seq)
        rank = identity.rank_of(event)
        refs.setdefault(key, ref)
        if rank is None and event.group_rank is None:
            # A rank that nothing names still shows what is stuck.
            unnamed.setdefault(key, []).append(CallSide(**_told(event)))
            continue
        join = _join(event, rank, identity, counters)
        known = joins.setdefault(key, {}).setdefault(join.rank, join)
        if known.at is None and join.at is not None:
            joins[key][join.rank] = join
    others = _Others(joins, statuses, identity)
    told = _judged(refs, joins)
    return tuple(
        replace(_call(key, ref, others, run, seen), unnamed=tuple(unnamed.get(key, ())))
        for key, ref in refs.items()
        if key in told
    )


def _judged(keys: Iterable[_Key], joins: _Joins) -> frozenset[_Key]:
    """The calls that are judged: of a group with very many, those that most ranks gave up in."""
    by_group: dict[str | None, list[_Key]] = {}
    for key in keys:
        by_group.setdefault(key.group, []).append(key)
    return frozenset(
        key
        for group in by_group.values()
        for key in sorted(group, key=lambda k: -len(joins.get(k, ())))[:_MOST_CALLS]
    )


def group_name(ref: GroupRef | None) -> str | None:
    """A name of the group that is equal on all its ranks, or None where there is none."""
    return None if ref is None else ref.name


class _Groups:
    """Finds the group of a time-out: the line itself never names it, the status line does."""

    def __init__(
        self,
        timeouts: Iterable[CollectiveTimeout],
        statuses: Iterable[GroupStatus],
        identity: Identity,
    ) -> None:
        self._by_work: dict[tuple[Rank | None, SeqId | None], GroupRef] = {}
        self._named: dict[str, GroupRef] = {}
        self._identity = identity
        for status in statuses:
            if status.group is not None:
                self._by_work.setdefault((_speaker(status, identity), status.failed), status.group)
        for ref in [*self._by_work.values(), *(t.group for t in timeouts)]:
            name = group_name(ref)
            if ref is not None and name is not None:
                self._named.setdefault(name, ref)

    def of(self, event: CollectiveTimeout) -> GroupRef | None:
        """Named by the line, by the same rank's status, or the only group of the incident."""
        if event.group is not None:
            return event.group
        found = self._by_work.get((_speaker(event, self._identity), event.seq))
        if found is None and len(self._named) == 1:
            return next(iter(self._named.values()))
        return found


def _speaker(event: CollectiveTimeout | GroupStatus, identity: Identity) -> Rank | None:
    rank = identity.rank_of(event)
    if rank is None and event.group_rank is not None:
        return Rank(int(event.group_rank))
    return rank


class _Told(TypedDict):
    op: str | None
    numel_in: int | None
    numel_out: int | None
    shape: tuple[int, ...] | None
    timeout_ms: int | None
    elapsed_ms: int | None
    at: Instant | None
    source: Provenance


def _operation(event: CollectiveTimeout) -> str | None:
    """The operation; its sizes tell a coalesced gather or scatter from messages between two."""
    into, out = event.numel_in or 0, event.numel_out or 0
    least, most = sorted((into, out))
    if event.op != "COALESCED" or not least or least == most or most % least:
        return event.op
    return "ALLGATHER_COALESCED" if out > into else "REDUCE_SCATTER_TENSOR_COALESCED"


def _told(event: CollectiveTimeout) -> _Told:
    return _Told(
        op=_operation(event),
        numel_in=event.numel_in,
        numel_out=event.numel_out,
        shape=event.shape,
        timeout_ms=event.timeout_ms,
        elapsed_ms=event.elapsed_ms,
        at=event.at,
        source=event.source,
    )


def _join(
    event: CollectiveTimeout,
    rank: Rank | None,
    identity: Identity,
    counters: Mapping[tuple[SeqId | None, Rank | None], GroupStatus],
) -> Join:
    known = rank if rank is not None else Rank(int(event.group_rank or 0))
    status = counters.get((event.seq, known))
    return Join(
        rank=known,
        global_rank=rank is not None and identity.is_global(event),
        enqueued=None if status is None else status.enqueued,
        completed=None if status is None else status.completed,
        **_told(event),
    )


def _call(key: _Key, ref: GroupRef | None, others: _Others, run: Run, seen: Ranks) -> Call:
    """Add what counters, reports and the other calls of the group tell of the other ranks."""
    joins = others.joins.get(key, {})
    joined = frozenset(joins)
    absent, passed = others.elsewhere(key)
    for report in run.all(DesyncReported):
        if report.seq in (None, key.seq):
            absent |= report.absent
    members = run.world.ranks if ref is not None and ref.is_default else None
    known = joined | absent | passed | seen
    return Call(
        group=ref,
        seq=key.seq,
        joins=joins,
        absent=absent - joined,
        passed=passed - joined,
        silent=NO_RANKS if members is None else members - known,
        members=members,
    )


class _Others:
    """Knows what the ranks of a group did that did not give up in one call of it."""

    def __init__(self, joins: _Joins, statuses: Iterable[GroupStatus], identity: Identity) -> None:
        self.joins = joins
        self._calls: dict[str | None, list[_Key]] = {}
        self._counters: dict[str | None, list[tuple[Rank, GroupStatus]]] = {}
        for key in joins:
            self._calls.setdefault(key.group, []).append(key)
        for status in statuses:
            rank = identity.rank_of(status)
            if rank is not None and status.enqueued is not None:
                told = self._counters.setdefault(group_name(status.group), [])
                told.append((rank, status))

    def elsewhere(self, key: _Key) -> tuple[Ranks, Ranks]:
        """Ranks of the same group that are behind `key.seq`, and those that are past it."""
        behind: set[Rank] = set()
        past: set[Rank] = set()
        if key.seq is None:
            return NO_RANKS, NO_RANKS
        for other in self._calls.get(key.group, ()):
            if other.seq is not None and other.seq != key.seq:
                (behind if other.seq < key.seq else past).update(self.joins[other])
        for rank, status in self._counters.get(key.group, ()):
            if status.completed is not None and status.completed >= key.seq:
                past.add(rank)
            elif status.enqueued is not None and status.enqueued < key.seq:
                behind.add(rank)
        return frozenset(behind), frozenset(past)
