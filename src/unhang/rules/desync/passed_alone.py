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
ahead, it may be the root of the calls in between. When the difference is one, unless every rank is
seen: the rank behind may have given its part and wait for another's; where nothing tells the size
of the job and the operations are alike, what was sent to it may have been lost. When the lines may
speak of different groups.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`, or compare the Flight Recorder entries of the two ranks
from the last number that both completed.

## What to do
Compare what the rank behind did in this step with the others: its batch, its branch, its modules.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.model.waits import Aspect
from unhang.rules.desync import logged
from unhang.rules.shared import consequences, rivals


@rule(
    "DSY006",
    "passed-without-a-peer",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first two calls of one group that cannot both be what they seem."""
    for found, behind in logged.mismatches(incident, Aspect.NUMBER):
        late, early = (variant.ranks for variant in found.variants)
        later = (c for c in incident.calls if c.seq == found.later and c.joined == early)
        sides = [*behind.sides, *next(later).sides]
        weight = rivals.weigh(incident, sides[0], Strength.SUPPORTS)
        yield check.finding(
            weight.strength,
            claim=say(
                "DSY006.claim",
                "{early:ranks} completed works after number {seq} and waited in {later}, while"
                " {late:ranks} still waited in {seq}.",
                late=late,
                early=early,
                seq=behind.seq,
                later=found.later,
            ),
            why=say(
                "DSY006.why",
                "Nobody can complete a later collective together with a rank that still waits in"
                " an earlier one: the ranks mean different collectives by these numbers.",
            ),
            against=weight.against,
            culprits=found.odd,
            at=sides[0].at,
            call=behind,
            evidence=sides,
        )
