"""Calls in which ranks issue one operation with different sizes, and what kind of traffic it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unhang.model.finding import Strength
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Call, Incident, Join
from unhang.model.waits import Aspect
from unhang.rules.desync import logged
from unhang.rules.desync.graph_traffic import SMALL, is_graph_traffic
from unhang.rules.shared import rivals
from unhang.waitgraph import matching


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
    for found, call in logged.mismatches(incident, Aspect.SIZE):
        sizes = {rank: v.kind.inputs[0] for v in found.variants for rank in v.ranks}
        joins = tuple(j for j in matching.collective_joins(call) if j.rank in sizes)
        if is_graph_traffic(joins[0].op or "", sizes.values(), call.group) is graph:
            yield SizeDifference(
                call=call,
                joins=joins,
                sizes=sizes,
                graph=graph,
                apart=min(sizes.values()) < SMALL <= max(sizes.values()),
                odd=found.odd,
                weight=rivals.weigh(incident, joins[0], Strength.PROVES),
            )
