"""A data loader's worker was killed.

## What it finds
`DataLoader worker (pid 4711) is killed by signal: Killed`, without a rank that was killed too.

## Why it hangs
Workers hold copies of the data set's objects and prefetched batches; the kernel kills them first
when host memory runs out. The rank fails, or waits for a batch forever, and the others wait for it.

## When it stays quiet
When work continued afterwards: the program made a new loader.
When the job was stopped from outside, another process had failed or a collective had timed out
before: then the workers were ended with the rest, and this is a hint. Other signals say other
things: a bus error means shared memory, `Hangup` a closed session.

## How to confirm
`dmesg -T | grep -i -E 'killed process|out of memory'` on the rank's host.

## What to do
Fewer workers, a smaller `prefetch_factor`, arrays or memory-mapped files instead of lists of Python
objects in the data set (forked pages of objects are copied as they are counted).

## References
`torch/utils/data/_utils/signal_handling.py`; pytorch issue 13246.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from unhang.model.events import ProcessEnded
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.crash.kills import KERNEL_LOG
from unhang.rules.shared import consequences, order, rivals


@rule(
    "CRA009",
    "data-loader-worker-killed",
    cause=Cause.HOST_OOM,
    needs={Fact.EXITS},
    explains=consequences.OF_A_LOST_RANK,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all workers that were killed."""
    workers = [
        e
        for e in incident.all(ProcessEnded)
        if e.worker and e.signal == signal.SIGKILL and not order.survived(incident, e)
    ]
    if not workers or any(f.manner is Manner.KILLED for f in incident.failures):
        return
    against = rivals.of_a_failure(incident, workers[0])
    ranks = frozenset(e.origin.rank for e in workers if e.origin.rank is not None)
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "CRA009.claim",
            "data-loader workers were killed, most likely because host memory ran out",
        ),
        why=say(
            "CRA009.why",
            "Workers hold copies of the data set and prefetched batches, and the kernel"
            " kills them first when host memory runs out.",
        ),
        rival=against,
        against=say(
            "CRA009.against_sender", "a person or a monitor can kill too; the kernel log decides"
        ),
        culprits=ranks if len(ranks) == 1 else frozenset(),
        at=workers[0].at,
        evidence=workers,
        collect=(KERNEL_LOG,),
    )
