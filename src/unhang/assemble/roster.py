"""From all events to who was seen: ranks, hosts, processes, and what is silent."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.assemble.identity import Identity
from unhang.assemble.speakers import first_host, tells_of_another
from unhang.assemble.timeline import Timeline
from unhang.model.coverage import Coverage
from unhang.model.events import (
    DumpRead,
    DumpUnusable,
    Event,
    LinesDropped,
    ProcessEnded,
    StackRefused,
)
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.incident import RankFacts, World
from unhang.model.time import Instant

_NO_SIGN_OF_LIFE = (ProcessEnded, DumpUnusable, StackRefused)
"""They name a rank of which nothing else need be seen."""


def find_roster(
    events: Sequence[Event], identity: Identity, timeline: Timeline
) -> dict[Rank, RankFacts]:
    """Return every rank that printed a line or that a report names."""
    told: dict[Rank, list[Event]] = {}
    for event in events:
        rank = identity.rank_of(event)
        if rank is not None:
            told.setdefault(rank, []).append(event)
    return {rank: _facts(rank, told[rank], timeline) for rank in sorted(told)}


def _facts(rank: Rank, events: list[Event], timeline: Timeline) -> RankFacts:
    own = [e for e in events if not tells_of_another(e) and not isinstance(e, _NO_SIGN_OF_LIFE)]
    times: list[Instant] = [t for e in events if (t := timeline.time_of(e)) is not None]
    return RankFacts(
        rank=rank,
        observed=len(own) > 0,
        host=first_host(events),
        local_rank=next((lo for e in own if (lo := e.origin.local_rank) is not None), None),
        pids=frozenset(p for e in own if (p := e.origin.pid) is not None),
        last_at=times[-1] if times else None,
    )


def find_coverage(
    roster: dict[Rank, RankFacts],
    world: World,
    events: Sequence[Event],
    artifacts: int,
    *,
    stacks: int = 0,
) -> Coverage:
    """Say which ranks were seen, and which should have been."""
    seen = frozenset(r for r, facts in roster.items() if facts.observed)
    dumps = len({e.source.artifact for e in events if isinstance(e, DumpRead)})
    unusable = len({e.source.artifact for e in events if isinstance(e, DumpUnusable)})
    more = {"flight_recorder": dumps, "stacks": stacks}
    dropped = sum(e.count for e in events if isinstance(e, LinesDropped))
    return Coverage(
        world_size=world.size,
        ranks_seen=seen,
        ranks_silent=NO_RANKS if world.ranks is None else world.ranks - seen,
        lines_dropped=dropped,
        sources={"log": artifacts - dumps - unusable, **{k: n for k, n in more.items() if n > 0}},
    )
