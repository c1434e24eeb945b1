"""A rank evaluates or saves with a collective, after the others have ended without a failure.

## What it finds
One single rank fails in a collective because its peers are gone, and by its traceback it is in an
evaluation or a save. The launcher reports no other process: it stopped none and saw none fail, so
those that it started beside this one had finished.

## Why it hangs
A collective needs all ranks. Programs often evaluate and save on one rank, and call the wrapped
model there: the forward of DistributedDataParallel broadcasts its buffers, and that of FSDP gathers
its parameters. In the middle of training such a call takes the answer that belongs to the others'
next one; after their last one nobody answers.

## When it stays quiet
When any other process failed or was stopped, when several ranks fail, when no other rank is seen in
the launcher's log, and without the launcher's report. Outside of an evaluation or a save the others
may as well have left too early.

## How to confirm
The others' logs end as those of a finished run do. The failing line is in a branch that only
this rank takes.

## What to do
Call the module inside of the wrapper (`model.module`) where only one rank evaluates, or evaluate
and save on all ranks.

## References
`torch.nn.parallel.DistributedDataParallel`, `broadcast_buffers`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.shared import consequences, endings


@rule(
    "DSY014",
    "collective-after-the-others-left",
    cause=Cause.DESYNC,
    needs={Fact.EXCEPTIONS},
    status=Status.PREVIEW,
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding for the one rank that the others have left."""
    alone = endings.left_alone(incident)
    if alone is None:
        return
    ranks = frozenset({alone.rank})
    values = {"ranks": ranks, "others": alone.others, "function": alone.function}
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "DSY014.claim",
            "{ranks:ranks} issued a collective in `{function}` after {others:ranks} had ended"
            " without a failure.",
            **values,
        ),
        why=say(
            "DSY014.why",
            "A collective needs all ranks. Evaluation and saving on one rank must not call the"
            " wrapped model, whose forward communicates; the launcher stopped nobody and"
            " reports no other failure, so the others had ended.",
        ),
        culprits=ranks,
        phase=alone.phase,
        at=alone.raised.at,
        evidence=[alone.raised, incident.failures[0]],
    )
