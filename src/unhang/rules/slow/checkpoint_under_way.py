"""A checkpoint was still being saved, loaded or gathered when the other ranks gave up waiting.

## What it finds
The last thing that a rank printed before the first time-out is a save or a load that has begun and
not ended: a bar below 100 %, or a start mark without its end mark; or a live stack in such code.

## Why it hangs
Usually one rank writes while the others go on to the next collective (often a barrier of one
element) and wait there. The watchdog cannot tell a rank that writes from a rank that is gone: when
gathering, serializing and writing last longer than the timeout, it ends the job.

## When it stays quiet
When the save ended, or training went on after it. It is only a hint when a process failed first,
when ranks issued different calls, when the rank that saves waits in the collective itself, when the
others wait in a collective of the model without any time to measure the save by, and when the mark
is far older than the timeout, or far younger than the wait. A mark alone cannot tell a slow save
from a stuck one: only a bar, or signs of life after the time-out, prove that it worked.

## How to confirm
Compare the time stamps of the start mark and of the time-out. Watch the file grow; measure the
storage (`dd`, `fio`) and divide the bytes of the checkpoint by its speed.

## What to do
Save sharded or asynchronously, save the model only, save less often; write to local disk and copy
later; give the process group that waits a timeout that covers the save.

## References
`torch.distributed.checkpoint.async_save`; `torch.distributed.init_process_group(timeout=…)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, rule, say
from unhang.rules.slow.work_findings import WorkRule, tell


@rule(
    "SLO001",
    "checkpoint-under-way-at-timeout",
    cause=Cause.CHECKPOINT_SLOW,
    needs={Fact.PHASES, Fact.STACKS},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when a save or a load outlasted the wait."""
    about = WorkRule(
        rule=check,
        phases=frozenset({Phase.SAVE, Phase.LOAD}),
        claim_ranks=say(
            "SLO001.claim_ranks",
            "{ranks:ranks}: a checkpoint is still being saved or loaded (`{detail}`)"
            " when the others give up waiting",
        ),
        claim=say(
            "SLO001.claim",
            "a checkpoint is still being saved or loaded (`{detail}`) when the others"
            " give up waiting",
        ),
    )
    yield from tell(incident, about)
