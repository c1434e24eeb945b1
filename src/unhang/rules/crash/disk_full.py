"""A rank failed because a file system or a quota was full.

## What it finds
`No space left on device`, `Disk quota exceeded`, or PyTorch's failed checkpoint writer, in an
exception that ended a rank, or that its last one came from.

## Why it hangs
Usually one rank writes (the checkpoint, a cache, a log). It raises, and the others wait for it in
the barrier behind the save.

## When it stays quiet
When the text names `/dev/shm`, or a data loader's worker died of a bus error: that is shared
memory. It is a hint when something else had failed, timed out or been stopped before.

## How to confirm
`df -h` and `df -i` on the rank's host for the path of the traceback; `quota -s`.

## What to do
Free space, write elsewhere, keep fewer checkpoints (`save_total_limit`, `max_to_keep`), point
`TMPDIR` and the caches away from the root file system.

## References
`errno(3)`: ENOSPC, EDQUOT.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from unhang.model.events import ExceptionKind, ProcessEnded, PythonException
from unhang.model.incident import Failure, ranks_of
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals


@rule(
    "CRA007",
    "file-system-full",
    cause=Cause.RANK_EXCEPTION,
    needs={Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_RANK | {Cause.LIBRARY_BUG},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that found no space."""
    full = [
        f
        for f in incident.failures
        if found_no_space(f) and not order.survived(incident, f.events[0])
    ]
    if not full or _shared_memory(incident):
        return
    first, ranks = full[0], ranks_of(full)
    against = rivals.of_a_failure(incident, first)
    yield check.finding(
        Strength.PROVES,
        claim=say(
            "CRA007.claim",
            "{ranks:ranks} failed because a file system or a quota is full",
            ranks=ranks,
        )
        if ranks
        else say(
            "CRA007.claim_nobody", "a process failed because a file system or a quota is full"
        ),
        why=say("CRA007.why", "The process that writes raises and exits; the others wait for it."),
        rival=against,
        culprits=ranks,
        at=first.at,
        evidence=full,
    )


def found_no_space(failure: Failure) -> bool:
    """Whether the exception that ended a process says so, or one that it came from."""
    first, *others = failure.events
    return any(
        isinstance(event, PythonException)
        and event.kind is ExceptionKind.DISK_FULL
        and (event is first or event.chained)
        for event in (first, *others)
    )


def _shared_memory(incident: Incident) -> bool:
    """A worker died of a bus error: the full file system is `/dev/shm`."""
    return any(e.worker and e.signal == signal.SIGBUS for e in incident.all(ProcessEnded))
