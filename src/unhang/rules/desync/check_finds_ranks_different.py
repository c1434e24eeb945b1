"""A check of the program or its framework finds that ranks differ.

## What it finds
An exception whose text says that something differs between ranks (`… is inconsistent across
ranks`, `processes have different numbers of batches`): a program that compares its ranks.

## Why it hangs
It does not have to: the check ends the job where it would hang, or give wrong results, a moment
later. Ranks that differ issue different collectives.

## When it stays quiet
Where DDP, ZeRO or DETAIL mode say more about the difference (DSY004, DSY008, DSY009). The ranks may
have come apart because one of them had failed before: after a failure or a stop it is a hint, and
where a GPU had run out of memory that is the cause.

## How to confirm
Print what is compared on each rank, with its rank, right before the check.

## What to do
As the text says. Different numbers of batches: the same number on all ranks (`drop_last`, a sampler
that pads), or `Join`. Different terms or parameters: let every rank run the same parts of the model
in each step.

## References
`torch.distributed.algorithms.join`; `torch.utils.data.DistributedSampler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import ExceptionKind, ModelMismatch, PythonException
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals, speakers

_STEPS = re.compile(
    r"\b(?:number|count|amount)s? of (?:\w+ )?(?:batch|step|sample|iteration|example|element|item)"
    r"|\b(?:batches|steps|samples|iterations|lengths?|len)\b",
    re.IGNORECASE,
)
_CALLS = re.compile(
    r"\bcollectives?\b|\bsequence number|\boperations?\b|out of sync", re.IGNORECASE
)


@rule(
    "DSY016",
    "check-finds-ranks-different",
    cause=Cause.MODEL_DIVERGENCE,
    needs={Fact.EXCEPTIONS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the earliest such exception."""
    raised = [
        e
        for e in incident.all(PythonException)
        if e.kind is ExceptionKind.MISMATCH and not e.handled and not order.survived(incident, e)
    ]
    if not raised or incident.all(ModelMismatch) or incident.shows(Fact.FINGERPRINTS):
        return
    found = speakers.in_order(raised)
    first = found[0]
    weight = rivals.weigh(incident, first, Strength.SUPPORTS)
    yield check.finding(
        weight.strength,
        cause=_cause(first.message),
        claim=say(
            "DSY016.claim",
            "a check found that ranks differ: {error}",
            error=f"{first.exception}: {first.message}"[:200],
        ),
        why=say(
            "DSY016.why",
            "Ranks that differ issue different collectives, or different numbers of them.",
        ),
        against=weight.against,
        culprits=speakers.minority(incident, found),
        at=first.at,
        evidence=found,
    )


def _cause(text: str) -> Cause:
    """What differs: the steps, the calls, else the model or what it computes."""
    if _STEPS.search(text) is not None:
        return Cause.UNEVEN_WORK
    return Cause.DESYNC if _CALLS.search(text) is not None else Cause.MODEL_DIVERGENCE
