"""An evaluation was still running on some rank when the other ranks gave up waiting.

## What it finds
The last thing that a rank printed before the first time-out is an evaluation, a generation or
logging that has begun and not ended: a validation bar below 100 %, or a start mark without its end
mark; or a live stack in such code.

## Why it hangs
Many programs evaluate on rank 0 only. The other ranks return at once, go on to the next training
step and wait in its first collective: a barrier, a broadcast, or the gather of the features. When
the evaluation lasts longer than the timeout, they end the job.

## When it stays quiet
When the evaluation ended, or training went on after it. It is only a hint when a process failed
first, when ranks issued different calls, when the evaluating rank waits in the collective itself,
or when the bar stood still long before the time-out: then the evaluation did not work but hung.

## How to confirm
A bar's elapsed time at or above the timeout settles it. Evaluate on one process and time it.

## What to do
Evaluate on all ranks, on fewer samples, less often, or in a job of its own; otherwise give the
process group that waits a timeout that covers the evaluation.

## References
`torch.utils.data.distributed.DistributedSampler` for evaluation on all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, rule, say
from unhang.rules.slow.work_findings import WorkRule, tell

_PHASES = frozenset({Phase.EVAL, Phase.GENERATE, Phase.LOGGING})


@rule(
    "SLO003",
    "evaluation-under-way-at-timeout",
    cause=Cause.EVAL_SLOW,
    needs={Fact.PHASES, Fact.STACKS},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when an evaluation outlasted the wait."""
    about = WorkRule(
        rule=check,
        phases=_PHASES,
        claim_ranks=say(
            "SLO003.claim_ranks",
            "{ranks:ranks}: an evaluation is still running (`{detail}`) when the"
            " others give up waiting",
        ),
        claim=say(
            "SLO003.claim",
            "an evaluation is still running (`{detail}`) when the others give up waiting",
        ),
    )
    yield from tell(incident, about)
