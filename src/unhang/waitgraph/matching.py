"""What may be compared between the ranks of a call, and which ranks are the odd ones.

Who looks for ranks out of step must not mix groups, and must not take what differs legitimately
(uneven splits, point-to-point, the root of a broadcast) for a fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import TypeVar

from unhang.model.events import CollectiveTimeout, GroupRef
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Call, Join

K = TypeVar("K", bound=Hashable)

POINT_TO_POINT = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED", "UNKNOWN"})
"""Operations that two ranks of a group rightly issue differently at one number."""

ROOTED = frozenset({"BROADCAST", "_BROADCAST_OOP", "REDUCE", "_REDUCE_OOP", "GATHER", "SCATTER"})
"""Operations that some ranks may leave before others have arrived."""

_SIZED_BY_INPUT = frozenset(
    {"ALLREDUCE", "ALLREDUCE_COALESCED", "REDUCE", "_REDUCE_OOP", "BROADCAST", "_BROADCAST_OOP"}
    | {"REDUCE_SCATTER", "_REDUCE_SCATTER_BASE", "REDUCE_SCATTER_TENSOR_COALESCED"}
)
_SIZED_BY_OUTPUT = frozenset(
    {"ALLGATHER", "_ALLGATHER_BASE", "ALLGATHER_COALESCED", "ALLGATHER_INTO_TENSOR_COALESCED"}
)


def size_of(join: Join) -> int | None:
    """The number of elements that all ranks of a call must agree on; None where there is none.

    An all-gather may have uneven parts, but one total; of an all-to-all `sizes_of` knows.
    """
    if join.op in _SIZED_BY_INPUT:
        if join.numel_in is None and join.shape is not None:
            return prod(join.shape)
        return join.numel_in
    if join.op in _SIZED_BY_OUTPUT:
        return join.numel_out
    return None


def sizes_of(joins: Sequence[Join]) -> dict[Rank, int]:
    """The sizes that the ranks of a call must agree on, where they are known.

    The parts of an all-to-all may be uneven, and then the ranks send more or less than they get.
    Where each gets as much as it sends, and several ranks as much as each other, they are even.
    """
    even = {join.rank: join.numel_in for join in joins if join.numel_in == join.numel_out}
    sizes = Counter(even.values())
    to_all = all((join.op or "").startswith("ALLTOALL") for join in joins)
    if (
        to_all
        and len(even) == len(joins)
        and None not in sizes
        and min(sizes.values(), default=0) > 1
    ):
        return {rank: size for rank, size in even.items() if size is not None}
    return {join.rank: size for join in joins if (size := size_of(join)) is not None}


class Groups:
    """The calls of an incident by process group."""

    def __init__(self, calls: Sequence[Call], timeouts: Iterable[CollectiveTimeout]) -> None:
        self._defaults = {c.group.guid for c in calls if c.group and c.group.is_default}
        self._calls: dict[Hashable, list[Call]] = {}
        for call in calls:
            self._calls.setdefault(self._key(call.group), []).append(call)
        self._counted_alike = not any(
            event.origin.rank is not None
            and event.group_rank is not None
            and int(event.group_rank) != int(event.origin.rank)
            for event in timeouts
        )
        unnamed = (call for call in calls if not _is_shared(call.group))
        self._times_seen = Counter(rank for call in unnamed for rank in call.joins)

    def of(self, call: Call) -> list[Call]:
        """The calls of the same group, this one among them, in the order of the incident."""
        alike = self._calls[self._key(call.group)]
        return [other for other in alike if are_of_one_group(other, call)]

    def is_one(self, call: Call) -> bool:
        """Whether the ranks of a call surely speak of one process group.

        A GUID or the name of the world group says so. Older logs name at best a counter of the
        process: there every rank must have the same number in the group and in the job, and no
        rank may be stuck at two sequence numbers, which would show a second group.
        """
        if _is_shared(call.group):
            return True
        if call.group is not None and call.group.description is not None:
            return False
        return self._counted_alike and all(self._times_seen[rank] <= 1 for rank in call.joins)

    def _key(self, group: GroupRef | None) -> Hashable:
        """What calls share that may be of one group."""
        if group is None or not _is_shared(group):
            return group
        return True if group.is_default or group.guid in self._defaults else group.guid


def are_of_one_group(one: Call, other: Call) -> bool:
    """Whether two calls name one group; the counter of a process is no part of the name."""
    if not _is_shared(one.group) or not _is_shared(other.group):
        return one.group == other.group
    assert one.group is not None
    assert other.group is not None
    if one.group.guid is None or other.group.guid is None:
        return one.group.description == other.group.description
    return one.group.guid == other.group.guid


def _is_shared(group: GroupRef | None) -> bool:
    """Whether the name of the group is equal on all its ranks."""
    return group is not None and (group.guid is not None or group.is_default)


def collective_joins(call: Call) -> list[Join]:
    """The joins of named ranks that are no point-to-point operations."""
    return [
        join
        for join in call.joins.values()
        if join.op is not None and join.op not in POINT_TO_POINT
    ]


def unheard(call: Call, world_size: int | None) -> int:
    """How many members of a call's group may have issued something else, and told nobody."""
    silent = len(call.silent) + len(call.unnamed)
    if call.group is not None and not call.group.is_default:
        return silent
    known = call.joined | call.absent | call.passed
    return max(silent, (world_size or 0) - len(known))


def variants(joins: Iterable[Join], keys: Mapping[Rank, K]) -> dict[K, Ranks]:
    """Ranks of some joins by what they do, the largest variant first."""
    return part({join.rank: keys[join.rank] for join in joins if join.rank in keys})


def part(keys: Mapping[Rank, K]) -> dict[K, Ranks]:
    """Ranks by what is known of them, the largest variant first."""
    found: dict[K, set[Rank]] = {}
    for rank, key in keys.items():
        found.setdefault(key, set()).add(rank)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), min(item[1])))
    return {key: frozenset(ranks) for key, ranks in ordered}


def odd_ranks(parted: Mapping[K, Ranks], silent: int = 0) -> Ranks:
    """The ranks outside the one largest variant; all of them where none is the largest.

    Nobody where the members of which nothing is known (`silent`) could make another one larger.
    """
    groups = list(parted.values())
    if len(groups) < 2:
        return NO_RANKS
    everybody = NO_RANKS.union(*groups)
    if len(groups[0]) > len(groups[1]):
        return everybody - groups[0] if len(groups[0]) > len(groups[1]) + silent else NO_RANKS
    return NO_RANKS if silent else everybody
