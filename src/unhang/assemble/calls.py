"""From time-outs and counters to calls: who joined, who is absent, who is silent, who differs."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.events import CollectiveTimeout, Event
from unhang.model.ids import Rank, SeqId
from unhang.model.incident import Call, Join


def find_calls(events: Sequence[Event]) -> tuple[Call, ...]:
    """Group the time-outs by sequence number."""
    by_seq: dict[SeqId | None, dict[Rank, Join]] = {}
    for event in events:
        if not isinstance(event, CollectiveTimeout) or event.group_rank is None:
            continue
        rank = Rank(event.group_rank)
        by_seq.setdefault(event.seq, {}).setdefault(
            rank,
            Join(
                rank=rank,
                global_rank=False,
                op=event.op,
                numel_in=event.numel_in,
                numel_out=event.numel_out,
                timeout_ms=event.timeout_ms,
                elapsed_ms=event.elapsed_ms,
                at=event.at,
                source=event.source,
            ),
        )
    return tuple(Call(group=None, seq=seq, joins=joins) for seq, joins in by_seq.items())
