"""A rank says that it has left its loop of steps, while the others go on in theirs.

## What it finds
Ranks that say, in lines that name them, that their training, their pass over the data or their
batches have ended, while others have not said so as often. The others gave up waiting in a
collective that the first have not issued, or issued a different one; or they began another pass in
which nothing moved any more; or the last words of the first say that they wait.

## Why it hangs
Every step has collectives. A rank with fewer batches, or one that stops early by a value of its
own, leaves the loop, or goes on to what comes after it; the others wait in a step that it never
takes.

## When it stays quiet
Where only rank 0 says that a pass is over, which most programs leave to it alone; where the rank is
at work of another kind since (it saves, evaluates, loads), or those that wait are; where the others
have said it as often; where training goes on; where a process failed or the job was stopped before;
without a sign that anybody waits.

## How to confirm
Print the number of batches, and the reason to stop, on every rank.

## What to do
Decide to stop on all ranks together (all-reduce the flag), give all ranks the same number of steps
(`drop_last=True`, a sampler that pads, the least of all lengths), or use the join context manager.

## References
`torch.distributed.algorithms.join`; `torch.utils.data.distributed.DistributedSampler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.desync.loop_ends import before_a_wait, before_another_pass, ends_by_rank
from unhang.rules.shared import order, rivals

_ECHOES = frozenset({Cause.TIMEOUT_SHORT, Cause.DESYNC, Cause.MODEL_DIVERGENCE})
"""Ranks in different steps issue different collectives, of different sizes."""


@rule(
    "DSY017",
    "rank-left-the-loop",
    cause=Cause.UNEVEN_WORK,
    needs={Fact.PHASES},
    status=Status.PREVIEW,
    explains=_ECHOES,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield at most one finding for the ranks that have left."""
    alarm = order.earliest(event for event in incident.events if event.gave_up)
    said = ends_by_rank(incident, alarm)
    if not said:
        return
    if alarm is None:
        left, others, strength = before_another_pass(incident, said), NO_RANKS, Strength.SUPPORTS
    else:
        left, others, strength = before_a_wait(incident, said)
    if not left:
        return
    last = said[min(left)][-1]
    weight = rivals.weigh(incident, alarm or last, strength)
    minority = len(left) <= max(len(others), 1)
    yield check.finding(
        weight.strength,
        claim=say(
            "DSY017.claim",
            "{ranks:ranks} left the loop (`{detail}`) that the others are still in.",
            ranks=left,
            detail=last.detail,
        ),
        why=say(
            "DSY017.why",
            "Every step has collectives that need all ranks; a rank that has left the loop no "
            "longer issues them, and the others wait.",
        ),
        against=weight.against,
        culprits=left if minority else NO_RANKS,
        at=last.at,
        call=incident.calls[0] if incident.calls else None,
        evidence=[said[rank][-1] for rank in sorted(left)[:2]] + ([alarm] if alarm else []),
    )
