"""ZeRO-3 saw modules run in another order than before, and then ranks waited in a gather.

## What it finds
DeepSpeed's `Invalidate trace cache @ step N: expected module X, but got module Y`, `tracing error`
or `disagreement between rank0 and …` before a time-out in a parameter gather.

## Why it hangs
ZeRO-3 gathers parameters in the order in which modules run. A rank whose forward pass takes
another branch gathers other parameters than its peers.

## When it stays quiet
Without a stuck gather: the message is routine when training and evaluation alternate. It is a hint
when an evaluation was under way, when all ranks print it, or when a rank had failed before.

## How to confirm
Compare the sizes of the stuck gathers over the ranks; run the step's batches on ZeRO-2.

## What to do
Make every rank run the same modules in each step (a dummy image or token for batches that lack
one, all experts touched), or use ZeRO-2.

## References
DeepSpeed, `deepspeed/runtime/zero/partitioned_param_coordinator.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import ModelDifference, ModelMismatch
from unhang.model.incident import Call
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.shared import order, rivals

_GATHERS = frozenset({"_ALLGATHER_BASE", "ALLGATHER", "ALLGATHER_COALESCED"})


@rule(
    "DSY009",
    "module-order-changed-before-a-gather",
    cause=Cause.MODEL_DIVERGENCE,
    needs={Fact.TIMEOUTS},
    status=Status.PREVIEW,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding when the order changed before a gather got stuck."""
    call = next((c for c in incident.calls if c.ops & _GATHERS and c.first is not None), None)
    first = None if call is None else call.first
    if call is None or first is None:
        return
    changed = [
        e
        for e in incident.all(ModelMismatch)
        if e.difference is ModelDifference.MODULE_ORDER and order.is_before(e, first)
    ]
    if changed:
        yield _finding(incident, call, changed)


def _finding(incident: Incident, call: Call, changed: list[ModelMismatch]) -> Finding:
    weight = rivals.weigh(incident, changed[-1], Strength.SUPPORTS)
    if any(p.phase in (Phase.EVAL, Phase.GENERATE, Phase.SAVE) for p in incident.open_phases):
        weight = rivals.Weight(
            Strength.HINTS,
            say(
                "DSY009.against_eval",
                "An evaluation, a generation or a save was under way, which changes the order on"
                " all ranks alike.",
            ),
        )
    return check.finding(
        weight.strength,
        claim=say(
            "DSY009.claim",
            "The order of modules under ZeRO-3 changed in step {step}, and then ranks waited"
            " in a gather of parameters.",
            step=changed[-1].step,
        ),
        why=say(
            "DSY009.why",
            "ZeRO-3 gathers parameters in the order in which modules run; a rank that takes"
            " another branch gathers other parameters.",
        ),
        against=weight.against,
        at=changed[-1].at,
        call=call,
        evidence=(changed[-1].source, *(j.source for j in call.sides))[:4],
    )
