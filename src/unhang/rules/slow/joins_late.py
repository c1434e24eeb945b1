"""One rank joins the collectives much later than the others, again and again.

## What it finds
In the logs of NCCL Inspector, for collectives of one kind and size: one rank whose kernel takes a
fifth or less of the time that it takes on every other rank.

## Why it hangs
The kernels of the ranks that are early wait for the last one, whose own kernel waits for nobody. A
rank that is always last makes all others wait in every step; when it is later than the timeout
once, they give up.

## When it stays quiet
With less than a second between the last and the others, a tenth where a collective timed out: that
is normal. Where fewer than five collectives were timed on a rank, or fewer than three ranks. What
was slow before a hang need not be what hangs, so it is a hint, unless the rank was late by a tenth
of the timeout.

## How to confirm
`py-spy dump` on that rank, several times; compare its GPU's clocks (`nvidia-smi -q -d CLOCK`) with
those of the others.

## What to do
Look for what only that rank does (logging, evaluation, its part of the data), then at its GPU and
host.

## References
NCCL `ext-profiler/inspector/README.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from unhang.model.events import CollectivesMeasured, Pace
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import measured

_LEAST_TIMED = 5
_LEAST_RANKS = 3
_TIMES_SHORTER = 5.0
_LATE_S, _LATE_BEFORE_TIMEOUT_S = 1.0, 0.1
_MUCH_OF_TIMEOUT = 0.1


class _Late(NamedTuple):
    """The rank that comes last, and by how much."""

    event: CollectivesMeasured
    other: CollectivesMeasured
    op: str
    late_s: float


@rule("SLO202", "rank-joins-late", needs={Fact.INSPECTOR})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the rank that is latest."""
    found = [
        late
        for events in measured.by_communicator(incident).values()
        for kind, paces in measured.paces(events, _LEAST_TIMED).items()
        if (late := _late(kind[0], {e.comm_rank: e for e in events}, paces)) is not None
    ]
    latest = max(found, key=lambda late: late.late_s, default=None)
    least_s = _LATE_BEFORE_TIMEOUT_S if incident.calls else _LATE_S
    if latest is None or latest.late_s < least_s:
        return
    rank = measured.rank_of(incident, latest.event)
    limits_ms = [call.timeout_ms for call in incident.calls if call.timeout_ms is not None]
    much = any(1_000 * latest.late_s >= _MUCH_OF_TIMEOUT * limit for limit in limits_ms)
    yield check.finding(
        Strength.SUPPORTS if much else Strength.HINTS,
        claim=say(
            "SLO202.claim",
            "{ranks:ranks} joined {op} {late:s} after all others, again and again.",
            ranks=frozenset({rank}),
            late=latest.late_s,
            op=latest.op,
        )
        if rank is not None
        else say(
            "SLO202.claim_unknown",
            "Rank {rank} of a communicator joined {op} {late:s} after all others, again and again.",
            rank=latest.event.comm_rank,
            late=latest.late_s,
            op=latest.op,
        ),
        why=say(
            "SLO202.why",
            "Its kernels are the shortest by far: the last rank to arrive waits for nobody.",
        ),
        against=None
        if much
        else say("SLO202.against", "What was slow before a hang need not be what hangs."),
        culprits=frozenset() if rank is None else frozenset({rank}),
        at=latest.event.at,
        evidence=[latest.event, latest.other],
    )


def _late(
    op: str, events: Mapping[int, CollectivesMeasured], paces: Mapping[int, Pace]
) -> _Late | None:
    """The rank whose kernels are far shorter than those of all others, or None."""
    if len(paces) < _LEAST_RANKS:
        return None
    last, second, *_ = sorted(paces, key=lambda rank: paces[rank].typical_us)
    shortest_us, next_us = paces[last].typical_us, paces[second].typical_us
    if next_us < _TIMES_SHORTER * shortest_us:
        return None
    return _Late(events[last], events[second], op, (next_us - shortest_us) / 1e6)
