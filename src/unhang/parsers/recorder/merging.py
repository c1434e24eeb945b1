"""From what a reader in another process read to the tables of this one."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from unhang.model.recording import CallKind, GroupTrace, Recording, Traffic
from unhang.parsers.recorder.kinds import KindTable


class Tables(NamedTuple):
    """What the indices in the recordings of one reader mean."""

    kinds: Sequence[CallKind]
    moves: Sequence[str]


class Merger:
    """Translates the recordings of one other reader."""

    def __init__(self, table: KindTable, foreign: Tables) -> None:
        """See where the indices differ.

        Args:
            table: of this process; what it does not know is added.
            foreign: of the other reader.
        """
        self._table = table
        self._kinds = _translation([table.intern(kind) for kind in foreign.kinds])
        self._moves = _translation([table.intern_move(move) for move in foreign.moves])

    def recording(self, found: Recording) -> Recording:
        """The same with the indices of this process."""
        return replace(
            found,
            groups={name: self._trace(trace) for name, trace in found.groups.items()},
            kinds=self._table.kinds,
            moves=self._table.moves,
            course=self._table.course(_translated(array("i", found.course), self._moves)),
        )

    def _trace(self, trace: GroupTrace) -> GroupTrace:
        return replace(
            trace,
            kinds=_translated(trace.kinds, self._kinds),
            sent=self._traffic(trace.sent),
            received=self._traffic(trace.received),
        )

    def _traffic(self, by_peer: Mapping[int, Traffic]) -> dict[int, Traffic]:
        return {
            peer: replace(traffic, kinds=_translated(traffic.kinds, self._kinds))
            for peer, traffic in by_peer.items()
        }


def _translation(indices: list[int]) -> list[int] | None:
    """New indices by old ones; None where all are the same, as in most jobs."""
    return None if indices == list(range(len(indices))) else indices


def _translated(indices: array[int], translation: list[int] | None) -> array[int]:
    if translation is None:
        return indices
    return array("i", map(translation.__getitem__, indices))
