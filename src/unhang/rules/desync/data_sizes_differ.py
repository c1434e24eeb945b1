"""Ranks issued one operation on data of different sizes under one sequence number.

## What it finds
One call (same group, number and operation) in which ranks name different numbers of elements, and
the traffic is not gradients or parameters: metrics, features, buffers, parts of a sequence. Or a
flag or barrier of few elements on one side against a bucket on the other: these ranks are in
different places of the program.

## Why it hangs
NCCL does not check sizes. A rank that expects more elements than the others send waits forever,
and so do the ranks behind it.

## When it stays quiet
Where sizes may differ (all-to-all, the parts of an all-gather, point-to-point), and where the
lines may speak of different groups. Ranks in different places do not prove a branch: a step more
or a module more brings them there too, and DSY011 says so where bars show it.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`: shapes of both sides are printed, with their stacks.

## What to do
Pad to a common length, gather the lengths first, drop the last incomplete batch, or use an
operation that allows uneven sizes.

## References
`torch.distributed.all_gather`: all tensors must have one size.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.desync.sizes import find_differences
from unhang.rules.shared import consequences, rivals


@rule(
    "DSY003",
    "data-sizes-differ",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per call of the program's data with different sizes."""
    for found in find_differences(incident, graph=False):
        weight = found.weight
        if found.apart:
            weight = rivals.weigh(incident, found.joins[0], Strength.SUPPORTS)
        yield check.finding(
            weight.strength,
            claim=say(
                "DSY003.claim_apart",
                "{ranks:ranks} are in different places of the program: one {op:ops} has"
                " {least} elements on one side and {most} on the other.",
                **found.values,
            )
            if found.apart
            else say(
                "DSY003.claim",
                "{ranks:ranks} brought different numbers of elements to one {op:ops}:"
                " {least} and {most}.",
                **found.values,
            ),
            why=say(
                "DSY003.why",
                "NCCL does not compare sizes: a rank that expects more than the others send"
                " waits until its watchdog ends it.",
            ),
            against=weight.against,
            culprits=found.odd,
            at=found.joins[0].at,
            call=found.call,
            evidence=found.joins,
        )
