"""Ranks reduced different gradients, or gathered different parameters, under one number.

## What it finds
One call (same group, number and operation) of gradient or parameter traffic in which ranks name
different numbers of elements.

## Why it hangs
Every rank must bring the same number of elements. When the graph differs between ranks (an expert
without tokens, a text-only batch beside one with images, parameters that got no gradient), DDP
and ZeRO-1/2 reduce buckets of different sizes, and ZeRO-3 and FSDP gather different parameters.

## When it stays quiet
Where sizes may differ (all-to-all, the parts of an all-gather, point-to-point), where they are
data of the program (few elements on a side, lengths that differ by little, groups of tensor or
sequence parallelism), and where the lines may speak of different groups. Sizes alone prove that the
ranks are out of step; where their own last words put the odd ones elsewhere in the program, it is
the program that parted.

## How to confirm
Look the sizes up: a size that is a product of model dimensions names the parameter. Run the same
batches on one GPU each and compare which parameters get gradients.

## What to do
Make every rank run the same modules in each step: a dummy image or token, all experts touched,
`find_unused_parameters`, ZeRO-2 instead of ZeRO-3.

## References
DeepSpeed, `deepspeed/runtime/zero/partitioned_param_coordinator.py` (order of gathers).
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.desync.places import parted
from unhang.rules.desync.sizes import find_differences
from unhang.rules.shared import consequences


@rule(
    "DSY002",
    "parameter-sizes-differ",
    cause=Cause.MODEL_DIVERGENCE,
    needs={Fact.TIMEOUTS},
    explains=consequences.OF_RANKS_OUT_OF_STEP | {Cause.DESYNC},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per call of gradients or parameters with different sizes."""
    for found in find_differences(incident, graph=True):
        apart = parted(incident, found.odd)
        # That they are out of step is proved; that they run different parts of a model is likely.
        sure = apart or found.weight.strength is not Strength.PROVES
        yield check.finding(
            found.weight.strength if sure else Strength.SUPPORTS,
            cause=Cause.DESYNC if apart else Cause.MODEL_DIVERGENCE,
            claim=say(
                "DSY002.claim",
                "{ranks:ranks} brought different numbers of elements to one {op:ops} of"
                " gradients or parameters: {least} and {most}.",
                **found.values,
            ),
            why=say(
                "DSY002.why",
                "Buckets of gradients and gathers of parameters have one size on all ranks"
                " unless the ranks run different parts of the model in that step.",
            ),
            against=found.weight.against,
            culprits=found.odd,
            at=found.joins[0].at,
            call=found.call,
            evidence=found.joins,
        )
