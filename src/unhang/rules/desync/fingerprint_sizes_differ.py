"""DETAIL mode found ranks that reduce different gradients or gather different parameters.

## What it finds
`Detected mismatch between collectives on ranks` with one operation on flat tensors of different
sizes: gradient buckets, or parameters under ZeRO-3 and FSDP.

## Why it hangs
It would: the graph differs between ranks (a text-only batch, an expert without tokens, unused
parameters), so they bring other buckets or fetch other modules.

## When it stays quiet
Tensors with dimensions, few elements and sizes that differ by little are data of the program:
DSY004 tells them. Sizes alone prove that the ranks are out of step; where their tracebacks or last
words put them in different places of the program, it is the program that parted.

## How to confirm
Look the sizes up in the list of parameters; run the same batches on one GPU each and compare
which modules run.

## What to do
Make every rank run the same modules in each step: a dummy image or token, all experts touched,
`find_unused_parameters`, ZeRO-2 instead of ZeRO-3.

## References
`torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.desync.fingerprints import FingerprintAspect, compare
from unhang.rules.desync.places import parted
from unhang.rules.shared import consequences, rivals


@rule(
    "DSY005",
    "fingerprint-sizes-differ",
    cause=Cause.MODEL_DIVERGENCE,
    needs={Fact.FINGERPRINTS},
    explains=consequences.OF_RANKS_OUT_OF_STEP | {Cause.DESYNC},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield at most one finding for all mismatches together."""
    found = compare(incident)
    if found is None or found.aspect is not FingerprintAspect.PARAMETERS:
        return
    apart = parted(incident, found.odd)
    # That they are out of step is proved; that they run different parts of a model is likely.
    sure = Strength.PROVES if apart else Strength.SUPPORTS
    weight = rivals.weigh(incident, found.events[0], sure)
    shapes = [side.shape for side in found.sides.values() if side.shape is not None]
    yield check.finding(
        weight.strength,
        cause=Cause.DESYNC if apart else Cause.MODEL_DIVERGENCE,
        claim=say(
            "DSY005.claim",
            "{ranks:ranks} brought different numbers of elements to one {op:ops} of gradients"
            " or parameters: {least} and {most}.",
            ranks=frozenset(found.sides),
            op=next(iter(found.sides.values())).op,
            least=min(shape[0] for shape in shapes),
            most=max(shape[0] for shape in shapes),
        ),
        why=say(
            "DSY005.why",
            "DETAIL mode compared them. Flat buckets and shards have one size on all ranks"
            " unless the ranks run different parts of the model.",
        ),
        against=weight.against,
        culprits=found.odd,
        at=found.events[0].at,
        evidence=found.events,
    )
