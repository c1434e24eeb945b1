"""A rank waited for something that another rank never published in the store at start-up.

## What it finds
`[n] is setting up NCCL communicator and retrieving ncclUniqueId from [m]`, or a store key of rank
m, that timed out.

## Why it hangs
The first collective of a group begins when its rank 0 publishes an id in the store. Rank n is
merely the first to give up; m has not reached its first collective: it loads, tokenizes,
compiles, or has died.

## When it stays quiet
When the store itself went away (the error says that the connection was closed). It is a hint when
the rank printed in front is not the one in the text: then the text counts within a sub-group.

## How to confirm
Look at the log and the stack of rank m at that time. It is not the network: the store answered.

## What to do
Do slow work of one rank before the process group is created, or give the group a longer timeout.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, `broadcastUniqueNCCLID`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StoreFault, StoreProblem
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say

_WAITS = frozenset({StoreProblem.UNIQUE_ID_TIMED_OUT, StoreProblem.KEY_TIMED_OUT})


@rule("LOC003", "rank-did-not-publish-its-id", needs={Fact.STORE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each rank that did not publish."""
    faults = [f for f in incident.all(StoreFault) if f.problem in _WAITS]
    owners: dict[Rank, list[StoreFault]] = {}
    for fault in faults:
        if fault.owner is not None and fault.owner != fault.waiter:
            owners.setdefault(fault.owner, []).append(fault)
    for owner, waits in owners.items():
        yield check.finding(
            Strength.HINTS if any(map(_is_sub_group, waits)) else Strength.SUPPORTS,
            claim=say(
                "LOC003.claim",
                "{owner:ranks} did not reach its first collective; {waiters:ranks} waited"
                " for the id that it publishes.",
                owner=owner,
                waiters=frozenset(w.waiter for w in waits if w.waiter is not None),
            ),
            why=say(
                "LOC003.why",
                "The store answered, so it is not the network: the rank that publishes is late"
                " or gone, and who gives up first is chance.",
            ),
            culprits=frozenset({owner}),
            phase=Phase.INIT,
            at=waits[0].at,
            evidence=waits,
        )


def _is_sub_group(fault: StoreFault) -> bool:
    """The rank in the text is not the rank that prints it."""
    return fault.origin.rank is not None and fault.origin.rank != fault.waiter
