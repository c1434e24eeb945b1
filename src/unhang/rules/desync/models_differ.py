"""DDP or ZeRO says that ranks run different models.

## What it finds
The framework's own checks: other parameters or shapes on another rank, parameters without a
gradient, a parameter that is ready twice, ZeRO-3 ranks that ask for different parameters.

## Why it hangs
Gradient buckets and parameter gathers pair up in order. A rank with another graph skips or adds
some; the check raises on one rank and the others wait, or all raise.

## When it stays quiet
Where most ranks report it, none is named. Messages about the order of modules while ZeRO-3 still
learns it: DSY009 weighs those. A parameter that is marked ready twice is usually the same mistake
on every rank: it only supports.

## How to confirm
`TORCH_DISTRIBUTED_DEBUG=DETAIL` prints the names of the parameters without gradients.

## What to do
Build one model on all ranks (same seed, same configuration, same checkpoint). Let every rank use
every parameter in each step, or set `find_unused_parameters=True`; with activation checkpointing
use the non-reentrant kind.

## References
`torch/csrc/distributed/c10d/reducer.cpp`; `torch.nn.parallel.DistributedDataParallel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import ModelDifference, ModelMismatch
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import Manner, ranks_of
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers
from unhang.waitgraph import matching

_PAIR = 2
_CLAIMS = {
    ModelDifference.UNFINISHED_REDUCTION: say(
        "DSY008.claim_unfinished-reduction", "Some parameters got no gradient in a step under DDP."
    ),
    ModelDifference.MARKED_TWICE: say(
        "DSY008.claim_marked-twice", "A parameter got its gradient twice in one step under DDP."
    ),
    ModelDifference.PARAMETER_COUNT: say(
        "DSY008.claim_parameter-count",
        "{all:ranks} built models with different numbers of parameters.",
    ),
    ModelDifference.PARAMETER_SHAPE: say(
        "DSY008.claim_parameter-shape",
        "{ranks:ranks} built a model with different shapes than {other:ranks}.",
    ),
}


@rule(
    "DSY008",
    "framework-reports-different-models",
    cause=Cause.MODEL_DIVERGENCE,
    needs={Fact.FINGERPRINTS, Fact.EXCEPTIONS},
    explains=consequences.OF_RANKS_OUT_OF_STEP | {Cause.DESYNC},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first difference that a check names."""
    found = [
        e for e in incident.all(ModelMismatch) if e.difference is not ModelDifference.MODULE_ORDER
    ]
    if not found:
        return
    first = found[0]
    weight = rivals.weigh(incident, first, _strength(first.difference))
    yield check.finding(
        weight.strength,
        claim=_CLAIMS[first.difference].using(
            ranks=_speakers(incident, found),
            other=first.other_rank,
            all=frozenset(_counts(found)) or _speakers(incident, found),
        ),
        why=say(
            "DSY008.why",
            "DDP pairs gradients in one order on all ranks; a rank that runs another graph"
            " breaks the pairs.",
        ),
        against=weight.against,
        culprits=_odd(incident, found),
        at=first.at,
        evidence=found,
    )


def _speakers(incident: Incident, told: Sequence[ModelMismatch]) -> Ranks:
    """The ranks that a check names, else those that print it."""
    named = frozenset(e.rank for e in told if e.rank is not None)
    return named or speakers.ranks(incident, told)


def _odd(incident: Incident, found: Sequence[ModelMismatch]) -> Ranks:
    """The few ranks that differ from most others, as far as the checks tell them apart."""
    counts = _counts(found)
    if counts:
        size = max(incident.world.size or 0, max(counts) + 1)
        return matching.odd_ranks(matching.part(counts), size - len(counts))
    shapes = [e for e in found if e.difference is ModelDifference.PARAMETER_SHAPE]
    unfinished = [e for e in found if e.difference is ModelDifference.UNFINISHED_REDUCTION]
    ranks = _speakers(incident, shapes or unfinished)
    size = incident.world.size or len(_known(incident) | ranks)
    if 2 * len(ranks) < size or _alone(incident, ranks):
        return ranks
    # The shapes are compared with one process: where all others differ from it, it is the odd one.
    compared = frozenset(e.other_rank for e in shapes if e.other_rank is not None)
    return compared if len(ranks) == size - 1 and size > _PAIR else NO_RANKS


def _alone(incident: Incident, ranks: Ranks) -> bool:
    """Whether all other ranks were still there when these failed: they were ended, or waited."""
    ended = ranks_of(f for f in incident.failures if f.manner is Manner.CLOSED)
    world = incident.world.ranks
    return len(ranks) == 1 and world is not None and world - ranks <= incident.gave_up | ended


def _counts(found: Sequence[ModelMismatch]) -> dict[Rank, int]:
    """Numbers of parameters by rank."""
    sides = [(e.rank, e.count) for e in found] + [(e.other_rank, e.other_count) for e in found]
    return {rank: count for rank, count in sides if rank is not None and count is not None}


def _known(incident: Incident) -> Ranks:
    waiting = incident.gave_up
    return waiting | incident.coverage.ranks_seen


def _strength(difference: ModelDifference) -> Strength:
    if difference is ModelDifference.MARKED_TWICE:
        return Strength.SUPPORTS
    return Strength.PROVES
