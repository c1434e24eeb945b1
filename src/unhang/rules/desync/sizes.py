"""Calls in which ranks issue one operation with different sizes, and what kind of traffic it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unhang.model.finding import Strength
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Call, Incident, Join
from unhang.rules.desync.graph_traffic import SMALL, is_graph_traffic
from unhang.rules.shared import matching, rivals

_BROADCASTS = frozenset({"BROADCAST", "_BROADCAST_OOP"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeDifference:
    """One call with different sizes.

    Attributes:
        joins: the ranks whose sizes are known.
        graph: gradients or parameters, so the model's graph differs; else the program's data.
        apart: one side is a flag or a barrier and the other is not: the ranks are in different
            places of the program.
        odd: the ranks outside the one largest camp, else all; of a broadcast whose root has gone
            on, those that wait for more than it sent.
    """

    call: Call
    joins: tuple[Join, ...]
    sizes: Mapping[Rank, int]
    graph: bool
    apart: bool
    odd: Ranks
    weight: rivals.Weight

    @property
    def values(self) -> dict[str, object]:
        """What the sentences of this family say."""
        return {
            "ranks": frozenset(self.sizes),
            "op": self.joins[0].op,
            "least": min(self.sizes.values()),
            "most": max(self.sizes.values()),
        }


def find_differences(incident: Incident, *, graph: bool) -> Iterator[SizeDifference]:
    """Yield the calls of one operation and several sizes, of one kind of traffic."""
    groups = matching.Groups(incident)
    for call in incident.calls:
        if call.seq is None or len(call.ops) != 1 or not groups.is_one(call):
            continue
        joins = tuple(j for j in matching.collective_joins(call) if matching.size_of(j) is not None)
        sizes = {j.rank: size for j in joins if (size := matching.size_of(j)) is not None}
        if len(set(sizes.values())) < 2:
            continue
        if is_graph_traffic(joins[0].op or "", sizes.values(), call.group) is graph:
            yield SizeDifference(
                call=call,
                joins=joins,
                sizes=sizes,
                graph=graph,
                apart=min(sizes.values()) < SMALL <= max(sizes.values()),
                odd=_odd(incident, call, joins, sizes),
                weight=rivals.weigh(incident, joins[0], Strength.PROVES),
            )


def _odd(incident: Incident, call: Call, joins: Sequence[Join], sizes: Mapping[Rank, int]) -> Ranks:
    """The ranks that are out of line with the others, or with a root that had sent all it has."""
    if call.ops <= _BROADCASTS and call.passed:
        least = min(sizes.values())
        return frozenset(rank for rank, size in sizes.items() if size > least)
    silent = matching.unheard(incident, call)
    return matching.odd_ranks(matching.variants(joins, sizes), silent)
