"""Which traffic is made by the model's graph: gradients and parameters, not the program's data."""

from __future__ import annotations

from collections.abc import Iterable

from unhang import lazy_re as re
from unhang.model.events import GroupRef

_GRADIENTS = frozenset(
    {"ALLREDUCE", "ALLREDUCE_COALESCED", "REDUCE", "REDUCE_SCATTER", "_REDUCE_SCATTER_BASE"}
)
_PARAMETERS = frozenset(
    {"_ALLGATHER_BASE", "ALLGATHER_INTO_TENSOR_COALESCED", "ALLGATHER_COALESCED"}
)
_ACTIVATIONS = re.compile(r"tp|tensor|cp|context|sp\b|sequence|ulysses", re.IGNORECASE)
SMALL = 64
"""Fewer elements are barriers, counters, losses and flags; the smallest parameters are longer."""
_ALIKE = 0.02
"""Lengths of a sequence differ by less than this, sizes of buckets and parameters by more."""


def is_graph_traffic(op: str, sizes: Iterable[int], group: GroupRef | None = None) -> bool:
    """Whether sizes of one operation that differ show that the *graph* differs between ranks.

    A flag on one side and a bucket on the other do not: those ranks are in different places of the
    program, which a step more or less brings about as well.
    """
    counts = list(sizes)
    least, most = min(counts, default=0), max(counts, default=0)
    if least < SMALL:
        return False
    if op in _GRADIENTS:
        return True
    if op not in _PARAMETERS:
        return False
    named = "" if group is None or group.description is None else group.description
    if _ACTIVATIONS.search(named):
        return False
    return most - least > _ALIKE * most
