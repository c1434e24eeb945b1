"""From who waits for whom to what is held against the ranks that everybody waits for in the end.

A rank that others wait for and that waits for nobody is judged by its own condition: gone, stopped,
frozen, asleep, or at work. Where no such rank exists, the ranks wait for each other (a circle of
groups), or all wait in one call (it differs between them, or the network does not carry it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from unhang.live.judge.among_waiters import among_waiters
from unhang.live.judge.claim import GRAVITY, Claim
from unhang.live.judge.late_ranks import (
    against_rank,
    broken_calls,
    overdue_ranks,
    unseen_ranks,
)
from unhang.live.judge.patience import Patience
from unhang.live.judge.track import Track
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import Rank
from unhang.model.waits import Analysis
from unhang.waitgraph import WaitGraph


def find_claims(
    tracks: Mapping[Rank, Track], found: Analysis, patience: Patience
) -> tuple[Claim, ...]:
    """Return all claims of one moment, the gravest first.

    Args:
        tracks: the present process of each rank whose host is heard.
        found: what the waits of a snapshot of these come to.
        patience: how long the ranks of this job are left alone.
    """
    ends = {end.rank: end for end in found.ends}
    if _is_ending(tracks):
        ends = {rank: end for rank, end in ends.items() if not tracks[rank].departs}
    graph = WaitGraph(found.waits)
    claims = _beside_work(
        [against_rank(end, graph.victims(rank), patience, tracks) for rank, end in ends.items()]
    )
    claims += broken_calls(found.waits, frozenset(ends), tracks)
    claims += among_waiters(found, tracks, patience)
    claims += unseen_ranks(found.waits, tracks)
    claims += overdue_ranks(tracks)
    return tuple(sorted(claims, key=lambda c: -GRAVITY[c.stage]))


def _beside_work(claims: list[Claim]) -> list[Claim]:
    """A rank that stands beside one that works may wait for that one, by a file or a socket."""
    if not any(
        claim.charge in {SuspicionReason.AT_WORK, SuspicionReason.SPINNING} for claim in claims
    ):
        return claims
    return [
        replace(claim, stage=Stage.SUSPECTED)
        if claim.patience_s is not None and claim.stage is Stage.CONFIRMED
        else claim
        for claim in claims
    ]


def _is_ending(tracks: Mapping[Rank, Track]) -> bool:
    """Whether the job comes to its end, well or not: then the last ones wait for nobody's fault."""
    departing = sum(track.departs for track in tracks.values())
    return 2 * departing > len(tracks)


def placed(claim: Claim, tracks: Mapping[Rank, Track]) -> Claim:
    """A claim with where its ranks stand now, which their stacks may no longer tell later."""
    ranks = sorted(claim.culprits or claim.victims)
    stand = [tracks[rank].place for rank in ranks if rank in tracks]
    return replace(
        claim,
        place=next((at.place for at in stand if at.place), ""),
        borne_out=any(at.certain or at.fits for at in stand),
    )
