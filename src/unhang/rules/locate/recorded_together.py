"""All ranks of a group have issued a call, and it is open on all of them.

## What it finds
Flight Recorder dumps in which nobody lacks anything, and a call is open on every member.

## Why it hangs
If the job hangs, it hangs inside the call: the transport, or a GPU. If it does not, the dumps were
merely taken while the call ran.

## When it stays quiet
Whenever a rank waits for another one.

## How to confirm
Run with `NCCL_DEBUG=INFO`, and look at the network counters of the hosts.

## What to do
Read the findings about the network and the GPUs; nothing in the dumps names a rank.

## References
None.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one hint; it names nobody."""
    standstill = incident.recorded
    if standstill is None or standstill.differences or standstill.together is None:
        return
    wait = standstill.together
    yield Finding(
        rule=RULE.code,
        cause=None,
        strength=Strength.HINTS,
        claim=Message(
            key="LOC104.claim",
            values={
                "ranks": wait.waiters,
                "op": None if wait.call.first is None else wait.call.first.op,
                "seq": wait.seq,
            },
        ),
        why=Message(key="LOC104.why"),
        call=wait.call,
        evidence=(wait.source,),
    )


RULE = Rule(
    code="LOC104",
    name="recorded-call-open-on-all",
    cause=None,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.DUMPS}),
    check=check,
)
