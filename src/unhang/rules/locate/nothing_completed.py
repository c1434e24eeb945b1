"""Not one collective of a group ever completed: the trouble lies in set-up or transport.

## What it finds
A stuck call whose ranks all say "last completed work: -1"; or, where no rank says what it
completed, a first call of its group (number 1 at most) that several ranks wait in, before any step
of training was shown.

## Why it hangs
The first collective of a group creates the communicator: network interfaces, peer access, shared
memory, the right device. When nobody ever completed one, no rank is a straggler of training.

## When it stays quiet
When any rank of the group completed a work, or training had begun.

## How to confirm
Run with `NCCL_DEBUG=INFO` and look for `Init START` without `Init COMPLETE`, and for the interface
and the transport in use.

## What to do
Read the findings on network, devices and start-up.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`: "last completed work".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Progress
from unhang.model.incident import Call
from unhang.model.phases import Phase
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say


@rule("LOC006", "nothing-ever-completed", needs={Fact.STATUS, Fact.TIMEOUTS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each call of a group that never completed any."""
    for call in incident.calls:
        counted = [j for j in call.joins.values() if j.completed is not None]
        told = len(counted) > 0
        if not told and _is_first(incident, call):
            counted = list(call.joins.values())
        if counted and all(j.completed in (None, -1) for j in counted):
            ranks = frozenset(j.rank for j in counted)
            yield check.finding(
                Strength.PROVES if told else Strength.SUPPORTS,
                claim=say(
                    "LOC006.claim",
                    "{op:ops} of {ranks:ranks} is the first collective of its group, and none"
                    " ever completed.",
                    ranks=ranks,
                    op=counted[0].op or "a collective",
                ),
                why=say(
                    "LOC006.why",
                    "Before the first collective completes no rank is a straggler: set-up or"
                    " transport fails.",
                ),
                phase=Phase.INIT,
                at=counted[0].at,
                call=call,
                evidence=counted,
            )


def _is_first(incident: Incident, call: Call) -> bool:
    """By its number alone: groups count from 1, and one rank may count a barrier of its own."""
    several = len(call.joins) > 1
    numbered = call.seq is not None and call.seq <= 1
    trained = any(p.done > 1 and p.phase in (None, Phase.TRAIN) for p in incident.all(Progress))
    return several and numbered and not trained
