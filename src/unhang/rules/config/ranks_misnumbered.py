"""The ranks that announced themselves are not the ranks of the job.

## What it finds
Start-up announcements (`GLOBAL_RANK: 1, MEMBER: 2/8`) in which the same ranks appear twice while
others never appear, or in which part of the ranks appears and then nothing more happens.

## Why it hangs
Two nodes that both believe they are node 0 announce the same ranks, and the job waits forever for
the other half. A node that was never started leaves the same gap.

## When it stays quiet
When anything happened after the announcements: a step, a failure, a time-out; where ranks came
twice, a stop from outside is no more than the end of their wait. When the log is of one node and
ends there, the other ranks may be in their own logs, so this is never proof.

## How to confirm
Compare `NODE_RANK` and `SLURM_NODEID` on the nodes; count the announced ranks.

## What to do
Start through `srun` with `--ntasks-per-node` equal to the devices of a node; or give each node its
own `--node-rank`.

## References
Lightning `ClusterEnvironment`; `torchrun --node-rank`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from unhang.model.events import (
    ClosingSignal,
    FrameworkSeen,
    PhaseMark,
    ProcessEnded,
    SettingSeen,
    StopSeen,
    UnreadLine,
    VersionSeen,
    WorldSeen,
)
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say

_MOST_RANKS = 65_536
_PREPARATION = (WorldSeen, VersionSeen, FrameworkSeen, SettingSeen)
_STOPPED = (StopSeen, ClosingSignal, ProcessEnded, UnreadLine)
"""What may follow where somebody stops a job that never started; a step is none of it."""


@rule(
    "CFG006",
    "announced-ranks-do-not-add-up",
    cause=Cause.RENDEZVOUS,
    needs={Fact.ANNOUNCEMENTS},
    status=Status.PREVIEW,
    explains=frozenset({Cause.EXTERNAL_STOP}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding where announcements are all there is and do not add up."""
    told = [e for e in incident.all(WorldSeen) if e.rank is not None and e.world_size is not None]
    later = [e for e in incident.events if not isinstance(e, _PREPARATION)]
    later = [e for e in later if not (isinstance(e, PhaseMark) and e.phase is Phase.INIT)]
    stopped = any(isinstance(e, StopSeen) for e in later)
    if not told or not all(stopped and isinstance(e, _STOPPED) for e in later):
        return
    size = max(e.world_size for e in told if e.world_size is not None)
    counts = Counter(e.rank for e in told if e.rank is not None)
    if size > _MOST_RANKS:
        return
    missing = frozenset(Rank(r) for r in range(size)) - frozenset(counts)
    if not missing:
        return
    twice = frozenset(r for r, n in counts.items() if n > 1)
    if stopped and not twice:
        return
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "CFG006.claim_twice",
            "{twice:ranks} announced themselves twice and {missing:ranks} of {size} never did",
            twice=twice,
            missing=missing,
            size=size,
        )
        if twice
        else say(
            "CFG006.claim_missing",
            "{missing:ranks} of {size} never announced themselves",
            missing=missing,
            size=size,
        ),
        why=say(
            "CFG006.why",
            "Nodes that claim the same node rank, or nodes that were never started, leave"
            " start-up waiting forever.",
        ),
        against=say("CFG006.against", "the announcements of other nodes may be in their own logs"),
        culprits=NO_RANKS if twice else missing,
        phase=Phase.INIT,
        at=told[-1].at,
        evidence=told,
    )
