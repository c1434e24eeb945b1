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

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from unhang.model.ids import Ranks
from unhang.model.incident import Call, Join
from unhang.model.provenance import Provenance
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, matching, rivals


@rule(
    "DSY001",
    "operations-differ-at-one-sequence-number",
    cause=Cause.DESYNC,
    needs={Fact.TIMEOUTS},
    since="0.1.0",
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per call whose ranks name different operations."""
    groups = matching.Groups(incident)
    for call in incident.calls:
        if call.seq is None or not groups.is_one(call):
            continue
        joins = matching.collective_joins(call)
        parted = matching.variants(joins, {j.rank: j.op for j in joins})
        if len(parted) > 1:
            yield _finding(incident, call, frozenset(op for op in parted if op is not None))


def _finding(incident: Incident, call: Call, ops: frozenset[str]) -> Finding:
    joins = matching.collective_joins(call)
    parted = matching.variants(joins, {j.rank: j.op for j in joins})
    first = joins[0]
    weight = rivals.weigh(incident, first, Strength.PROVES)
    return check.finding(
        weight.strength,
        claim=say(
            "DSY001.claim",
            "{ranks:ranks} issued different operations under sequence number {seq}: {ops:ops}.",
            ranks=frozenset(j.rank for j in joins),
            ops=ops,
            seq=call.seq,
        ),
        why=say(
            "DSY001.why",
            "A collective completes only when all ranks of its group issue the same one; here"
            " {most:ranks} issued {op:ops} and the others something else.",
            most=next(iter(parted.values())),
            op=next(iter(parted)),
        ),
        against=weight.against,
        culprits=matching.odd_ranks(parted, matching.unheard(incident, call)),
        at=first.at,
        call=call,
        evidence=tuple(_of_each_camp(joins, parted.values()))[:4],
    )


def _of_each_camp(joins: Sequence[Join], parted: Iterable[Ranks]) -> Iterator[Provenance]:
    """One line of each camp, the largest camp first: the difference is what is to be seen."""
    for camp in parted:
        yield from (j.source for j in islice((j for j in joins if j.rank in camp), 1))
