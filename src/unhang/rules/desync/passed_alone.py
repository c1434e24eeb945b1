"""A rank completed collectives that another rank of its group cannot have joined.

## What it finds
Two stuck calls of one group: some ranks still wait in number n, others have completed n + 1 or
more and wait in a later one.

## Why it hangs
A rank that waits in n cannot run n + 1 on the same stream, so nobody can complete n + 1 with it.
Where others did, they completed something else under that number: operations or sizes differ, and
NCCL paired what does not belong together.

## When it stays quiet
When the earlier call is rooted: the root of a broadcast rightly runs ahead. When only rank 0 is
ahead, it may be the root of the works between. When the difference is one, unless every rank is
seen: the rank behind may have given its part and wait for another's; where nothing tells the size
of the job and the operations are alike, what was sent to it may have been lost. When the lines may
speak of different groups.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`, or compare the Flight Recorder entries of the two ranks
from the last number that both completed.

## What to do
Compare what the rank behind did in this step with the others: its batch, its branch, its modules.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`: one sequence number per group and collective.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import Rank, Ranks, RankSpans
from unhang.model.incident import Call
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, matching, rivals

_ENOUGH = 2


@rule(
    "DSY006",
    "passed-without-a-peer",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    since="0.1.0",
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per pair of calls of one group that cannot both be what they seem."""
    numbered = [c for c in incident.calls if c.seq is not None]
    numbered.sort(key=lambda call: call.seq or 0)
    groups = matching.Groups(incident)
    for behind in filter(groups.is_one, numbered):
        for ahead in sorted(groups.of(behind), key=lambda call: call.seq or 0):
            if groups.is_one(ahead) and _contradict(behind, ahead, incident):
                yield _finding(incident, behind, ahead)
                return


def _contradict(behind: Call, ahead: Call, incident: Incident) -> bool:
    """Whether the ranks ahead completed a work after the one that others still wait in."""
    if behind.seq is None or ahead.seq is None or ahead.seq <= behind.seq:
        return False
    if behind.ops & (matching.ROOTED | matching.POINT_TO_POINT):
        return False
    runners = ahead.joined - behind.joined
    if ahead.ops & matching.POINT_TO_POINT or not behind.joined:
        return False
    if runners and _completed_among_all(behind, ahead, incident):
        return True
    return bool(runners - {Rank(0)}) and ahead.seq - behind.seq >= _ENOUGH


def _completed_among_all(behind: Call, ahead: Call, incident: Incident) -> bool:
    """Whether all ranks are seen: a reduction that some of them completed has all parts."""
    late, early = behind.joined, ahead.joined
    size = incident.world.size
    if size is None and behind.ops != ahead.ops:
        size = max(frozenset(incident.roster) | late | early) + 1
    if size is None or not early <= behind.passed:
        return False
    return not RankSpans.below(size) - (late | early)


def _odd(behind: Call, ahead: Call, incident: Incident) -> Ranks:
    """The smaller camp; both where all ranks are seen and nothing tells which is out of step."""
    late, early = behind.joined, ahead.joined
    if len(late) == len(early) and _completed_among_all(behind, ahead, incident):
        return late | early
    return late if len(late) <= len(early) else early


def _finding(incident: Incident, behind: Call, ahead: Call) -> Finding:
    late, early = behind.joined, ahead.joined
    sides = [*behind.sides, *ahead.sides]
    weight = rivals.weigh(incident, sides[0], Strength.SUPPORTS)
    return check.finding(
        weight.strength,
        claim=say(
            "DSY006.claim",
            "{early:ranks} completed works after number {seq} and waited in {later}, while"
            " {late:ranks} still waited in {seq}.",
            late=late,
            early=early,
            seq=behind.seq,
            later=ahead.seq,
        ),
        why=say(
            "DSY006.why",
            "Nobody can complete a later collective together with a rank that still waits in"
            " an earlier one: the ranks mean different collectives by these numbers.",
        ),
        against=weight.against,
        culprits=_odd(behind, ahead, incident),
        at=sides[0].at,
        call=behind,
        evidence=sides,
    )
