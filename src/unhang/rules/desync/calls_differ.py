"""Ranks issued different operations under one sequence number.

## What it finds
One call (same group, same sequence number) in which ranks name different operations.

## Why it hangs
A collective completes only when every rank of its process group issues the same operation.
Different operations at one sequence number never meet: the ranks took different branches, or one
of them skipped or repeated a collective before.

## When it stays quiet
When the group of the lines is unknown and several groups may share the number. Point-to-point
operations (SEND, RECV, COALESCED) differ by design and are not compared. It is weaker when a rank
had failed, and a hint when the job had been stopped, before.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`: the first mismatch is printed with both sides and the
Python stack of each.

## What to do
Find the branch that depends on the rank or on its data (`if rank == 0:`, logging of different
keys, an early stop on one rank), and make every rank take the same one.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, the watchdog's message.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.model.waits import Aspect
from unhang.rules.desync import logged
from unhang.rules.shared import consequences, rivals
from unhang.waitgraph import matching


@rule(
    "DSY001",
    "operations-differ-at-one-sequence-number",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per call whose ranks name different operations."""
    for found, call in logged.mismatches(incident, Aspect.OPERATION):
        most = found.variants[0]
        first = matching.collective_joins(call)[0]
        weight = rivals.weigh(incident, first, Strength.PROVES)
        yield check.finding(
            weight.strength,
            claim=say(
                "DSY001.claim",
                "{ranks:ranks} issued different operations under sequence number {seq}: {ops:ops}.",
                ranks=NO_RANKS.union(*(variant.ranks for variant in found.variants)),
                ops=frozenset(variant.kind.op for variant in found.variants),
                seq=call.seq,
            ),
            why=say(
                "DSY001.why",
                "A collective completes only when all ranks of its group issue the same one; here"
                " {most:ranks} issued {op:ops}, and {rest:ranks} {other:ops}.",
                most=most.ranks,
                op=most.kind.op,
                rest=NO_RANKS.union(*(variant.ranks for variant in found.variants[1:])),
                other=frozenset(variant.kind.op for variant in found.variants[1:]),
            ),
            against=weight.against,
            culprits=found.odd,
            at=first.at,
            call=call,
            # the largest variant first: the difference is what is to be seen
            evidence=[v.source for v in found.variants if v.source is not None],
        )
