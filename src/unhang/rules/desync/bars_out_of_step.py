"""Progress of the ranks differs: they are not in the same step, or have different numbers of steps.

## What it finds
Before a time-out, training bars of one total on one stream where a later print is two or more
steps behind an earlier one; or, where lines name their rank, ranks with different totals, or that
say of different numbers of batches, or with last steps that lie further apart than the ranks
print.

## Why it hangs
Every step has collectives. A rank with fewer batches leaves the loop, or goes on to evaluate,
while the others wait in a step that it never takes.

## When it stays quiet
Bars of data work, evaluation and generation: ranks may rightly differ there. Steps of less than a
second or so, whose prints overtake each other; bars whose clock went back (another bar, or a
launcher that holds lines back). A rank whose last step is the last thing it printed: a killed
process loses the end of its output. Without a stuck collective.

## How to confirm
Print the number of batches on every rank before training.

## What to do
`drop_last=True`, a sampler that pads, one length for all ranks (all-reduce the minimum), the join
context manager (`torch.distributed.algorithms.Join`), stop early on all ranks together.

## References
`torch.utils.data.distributed.DistributedSampler`; `torch.distributed.algorithms.join`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Progress
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.desync.pace import Apart, of_plans, of_ranks, of_stream
from unhang.rules.shared import order, rivals

_ECHOES = frozenset(
    {Cause.TIMEOUT_SHORT, Cause.BANDWIDTH_LOW, Cause.DESYNC, Cause.MODEL_DIVERGENCE}
)
"""Ranks in different steps issue different collectives, of different sizes."""


@rule(
    "DSY011",
    "progress-differs-between-ranks",
    cause=Cause.UNEVEN_WORK,
    needs={Fact.PHASES},
    explains=_ECHOES,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield at most one finding, of named ranks before nameless bars."""
    first = order.first_timeout(incident)
    if first is None:
        return
    apart = of_ranks(incident) or of_plans(incident) or of_stream(incident, first)
    if apart is None:
        return
    strength = Strength.PROVES if apart.ended_early else Strength.SUPPORTS
    weight = rivals.weigh(incident, first, strength)
    yield check.finding(
        weight.strength,
        claim=_claim(apart),
        why=say(
            "DSY011.why",
            "Every step has collectives that need all ranks; a rank with fewer steps leaves"
            " the others waiting.",
        ),
        against=weight.against,
        culprits=apart.odd,
        at=first.at,
        call=incident.calls[0] if incident.calls else None,
        evidence=apart.states,
    )


def _claim(apart: Apart) -> Message:
    if apart.totals:
        return say(
            "DSY011.claim_totals",
            "Ranks have different numbers of steps: {least} and {most}.",
            least=min(apart.totals),
            most=max(apart.totals),
        )
    done = [p.done for p in apart.states if isinstance(p, Progress)]
    return say(
        "DSY011.claim_steps",
        "Ranks are in different steps: {least} and {most}.",
        least=min(done),
        most=max(done),
    )
