"""The dumps show ranks whose loop was shorter or longer than the others'.

## What it finds
A few ranks that stand in a barrier after their loop while the others are at the beginning of one
more step; or a few that wait in a call of one more step that none of the many others has issued.

## Why it hangs
Every step has collectives that need all ranks. A rank with fewer batches leaves the others waiting
in the next step.

## When it stays quiet
When the odd ranks' last call also stands inside the steps: then the code paths differ.

## How to confirm
Print the number of batches on each rank.

## What to do
Give every rank the same number of batches (`drop_last=True`, `DistributedSampler`, padding), or use
`model.join()` / `Join`.

## References
PyTorch tutorial "Distributed Training with Uneven Inputs Using the Join Context Manager".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.model.standstill import Role
from unhang.rules import recorded
from unhang.rules.desync import rivals

_EXPLAINED = rivals.ECHOES | {Cause.DESYNC}


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that were done first, or last."""
    standstill = incident.recorded
    if standstill is None:
        return
    for difference in standstill.differences:
        if difference.ended and difference.odd and difference.camps[1].kind.op == "barrier":
            yield Finding(
                rule=RULE.code,
                cause=Cause.UNEVEN_WORK,
                strength=Strength.SUPPORTS,
                claim=Message(key="DSY103.claim_shorter", values={"ranks": difference.odd}),
                why=Message(
                    key="DSY103.why_shorter",
                    values={"others": difference.camps[0].ranks, "op": difference.camps[0].kind.op},
                ),
                culprits=difference.odd,
                explains=_EXPLAINED,
                call=difference.call,
                evidence=tuple(camp.source for camp in difference.camps[1::-1]),
            )
    ahead = recorded.suspects(incident, Role.AHEAD)
    if ahead:
        ranks = recorded.ranks_of(ahead)
        wait = standstill.waits[0]
        yield Finding(
            rule=RULE.code,
            cause=Cause.UNEVEN_WORK,
            strength=Strength.SUPPORTS,
            claim=Message(key="DSY103.claim_longer", values={"ranks": ranks, "seq": wait.seq})
            if wait.seq is not None
            else Message(key="DSY103.claim_longer_pair", values={"ranks": ranks}),
            why=Message(key="DSY103.why_longer", values={"others": wait.lacking}),
            culprits=ranks,
            explains=rivals.ECHOES,
            call=wait.call,
            evidence=recorded.evidence(ahead, wait),
        )


RULE = Rule(
    code="DSY103",
    name="recorded-loops-uneven",
    cause=Cause.UNEVEN_WORK,
    since="0.1.0",
    status=Status.PREVIEW,
    needs=frozenset({Fact.DUMPS}),
    check=check,
)
