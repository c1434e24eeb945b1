"""Some ranks time out in NCCL and all others in Gloo: they are in different collectives.

## What it finds
Time-outs of NCCL's watchdog on some ranks and of Gloo's transport on others, with one time limit,
which together make up all ranks of the job.

## Why it hangs
A collective of one backend waits for all ranks; those that are in a collective of the other one
never come. Most often one rank takes a branch of its own: it gathers objects, or waits for all,
where the others train.

## When it stays quiet
When the size of the job is unknown, when a rank appears on both sides (then it has threads in
both), when the limits differ, or when the two sides do not add up to all ranks: somebody else may
be the one that both wait for.

## How to confirm
`py-spy dump` of one rank on each side shows the two places in the program.

## What to do
Let all ranks take the same branch; move the collective out of the condition.

## References
`gloo/transport/tcp/unbound_buffer.cc`; `torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import GlooFault
from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals


@rule(
    "DSY015",
    "backends-differ",
    cause=Cause.DESYNC,
    needs={Fact.GLOO},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding where the two sides make up the job."""
    size = incident.world.size
    call = next(iter(incident.calls), None)
    if size is None or call is None or len(incident.calls) != 1 or call.unnamed:
        return
    gave_up = [g for g in incident.all(GlooFault) if g.gave_up]
    named = {g.origin.rank if g.rank is None else g.rank for g in gave_up} - {None}
    limits = {g.timeout_ms for g in gave_up} | {call.timeout_ms}
    whole = len(call.joined) + len(gave_up) == size
    if not gave_up or named & call.joined or len(limits) != 1 or not whole:
        return
    few = len(call.joined) < len(gave_up)
    first = call.first
    assert first is not None
    weight = rivals.weigh(incident, first, Strength.SUPPORTS)
    yield check.finding(
        weight.strength,
        claim=say(
            "DSY015.claim",
            "{ranks:ranks} waited in {op:ops} of NCCL while the other {count} waited in Gloo.",
            ranks=call.joined,
            op=first.op or "a collective",
            count=len(gave_up),
        ),
        why=say(
            "DSY015.why",
            "Together they are all {size} ranks of the job: no rank remains that could be late, so"
            " the two sides are at different places of the program.",
            size=size,
        ),
        against=weight.against,
        culprits=call.joined if few else NO_RANKS,
        at=first.at,
        call=call,
        evidence=[*call.sides, *gave_up],
    )
