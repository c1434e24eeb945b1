"""The dumps show ranks that wait for each other in a circle.

## What it finds
Ranks that all have an open call, each of which lacks another of these ranks, and none of them is
free to issue what the others lack.

## Why it hangs
Ranks that are members of several groups issued the calls of these groups in different orders: each
waits in one group for a rank that waits in the other.

## When it stays quiet
When the waiting leads to a rank that waits for nobody: then that one holds the others up. Ranks
without a dump cannot be part of a circle. It names ranks only where a few of them issued their last
calls in an order that is usual for nobody, or came to the call with a different number of calls
from the rest.

## How to confirm
Compare the order of the last calls of two of the ranks in their dumps.

## What to do
Issue the groups' collectives, and the sends and receives, in one order on every rank.

## References
NCCL user guide, "Using multiple NCCL communicators concurrently".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, recorded


@rule(
    "DSY102",
    "recorded-circle-of-waits",
    cause=Cause.PG_DEADLOCK,
    needs={Fact.DUMPS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks in the circle."""
    found = incident.recorded
    if found is None or found.analysis.mismatches or not found.cycle:
        return
    waits = [w for w in found.analysis.waits if w.waiters & found.cycle]
    groups = frozenset(recorded.group_name(w.call) for w in waits)
    strength, against = recorded.weigh(incident, found.cycle, Strength.SUPPORTS)
    yield check.finding(
        strength,
        claim=say(
            "DSY102.claim",
            "{ranks:ranks} wait for each other in a circle, in the groups {groups:ops}.",
            ranks=found.cycle,
            groups=sorted(groups)[:4],
        ),
        why=say(
            "DSY102.why_odd",
            "Each waits in its first open call for a rank that is held in another one. Shortly "
            "before that, {odd:ranks} issued calls in an order that is unusual for it and for "
            "the others.",
            odd=found.cycle_odd,
        )
        if found.cycle_odd
        else say(
            "DSY102.why",
            "Each waits in its first open call for a rank that is held in another one; nobody"
            " outside the circle is missing.",
        ),
        against=against,
        culprits=found.cycle_odd,
        call=recorded.call_of(waits[0]) if waits else None,
        evidence=tuple(s for w in waits[:4] for s in w.sources),
    )
