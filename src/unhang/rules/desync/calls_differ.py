"""Ranks issued different collectives under one sequence number.

## What it finds
One call (same group, same sequence number) in which ranks name different operations or sizes.

## Why it hangs
A collective completes only when every rank of its process group issues the same operation with
matching sizes. Different operations at one sequence number never meet.

## When it stays quiet
When the group of the lines is unknown and several groups may share the sequence number, or when
only one rank was seen.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`: the first mismatch is printed with both sides.

## What to do
Find the branch that depends on the rank or on its data, and make every rank take the same one.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, the watchdog's message.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per call whose ranks name different operations."""
    for call in incident.calls:
        if len(call.ops) > 1:
            yield Finding(
                rule=RULE.code,
                cause=Cause.DESYNC,
                strength=Strength.PROVES,
                claim=Message(
                    key="DSY001.claim",
                    values={"ranks": call.joined, "ops": ", ".join(sorted(call.ops))},
                ),
                why=Message(key="DSY001.why"),
                call=call,
                evidence=tuple(join.source for join in call.joins.values())[:4],
            )


RULE = Rule(
    code="DSY001",
    name="calls-differ-at-one-sequence-number",
    cause=Cause.DESYNC,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.TIMEOUTS}),
    check=check,
)
