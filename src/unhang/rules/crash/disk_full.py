"""A rank failed because it could not write: a file system or a quota was full, or refused.

## What it finds
`No space left on device` or `Disk quota exceeded` in an exception that ended a rank, or that its
last one came from; or PyTorch's checkpoint writer that failed and does not tell why, with what the
kernel says of the storage then.

## Why it hangs
Usually one rank writes (the checkpoint, a cache, a log). It raises, and the others wait for it in
the barrier behind the save.

## When it stays quiet
When the text names `/dev/shm`, or a data loader's worker died of a bus error: that is shared
memory. It is a hint when something else had failed, timed out or been stopped before. That a disk
is full is said only where an error of the system says so.

## How to confirm
`df -h` and `df -i` on the rank's host for the path of the traceback; `quota -s`; the kernel log.

## What to do
Free space, write elsewhere, keep fewer checkpoints (`save_total_limit`, `max_to_keep`), point
`TMPDIR` and the caches away from the root file system. Where there is room, ask the storage's
administrators, and try a save again before giving up.

## References
`errno(3)`: ENOSPC, EDQUOT; torch `caffe2/serialize/inline_container.cc`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from unhang.model.events import (
    ExceptionKind,
    KernelEvent,
    KernelProblem,
    ProcessEnded,
    PythonException,
)
from unhang.model.ids import Ranks
from unhang.model.incident import Failure
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.crash.sameness import special_ranks
from unhang.rules.shared import consequences, order, rivals


@rule(
    "CRA007",
    "file-system-full",
    cause=Cause.RANK_EXCEPTION,
    needs={Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_RANK | {Cause.LIBRARY_BUG},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that could not write."""
    failed = [
        f
        for f in incident.failures
        if unwritten(f) is not None and not order.survived(incident, f.events[0])
    ]
    if not failed or _shared_memory(incident):
        return
    first, ranks = failed[0], special_ranks(incident, failed, len(failed))
    full = any(unwritten(f) is ExceptionKind.DISK_FULL for f in failed)
    storage = () if full else tuple(filter(_is_of_storage, incident.all(KernelEvent)))
    yield check.finding(
        Strength.PROVES,
        claim=_full(ranks) if full else _refused(ranks, told=bool(storage)),
        why=say("CRA007.why", "The process that writes raises and exits; the others wait for it."),
        rival=rivals.of_a_failure(incident, first),
        culprits=ranks,
        at=first.at,
        evidence=(*failed, *storage[:2]),
    )


def unwritten(failure: Failure) -> ExceptionKind | None:
    """How the exception that ended a process, or one it came from, says that it could not write."""
    first, *others = failure.events
    kinds = {
        event.kind
        for event in (first, *others)
        if isinstance(event, PythonException) and (event is first or event.chained)
    }
    return next((kind for kind in _UNWRITTEN if kind in kinds), None)


_UNWRITTEN = (ExceptionKind.DISK_FULL, ExceptionKind.WRITE_FAILED)


def _full(ranks: Ranks) -> Message:
    if not ranks:
        return say(
            "CRA007.claim_nobody", "a process failed because a file system or a quota is full"
        )
    return say(
        "CRA007.claim",
        "{ranks:ranks} failed because a file system or a quota is full",
        ranks=ranks,
    )


def _refused(ranks: Ranks, *, told: bool) -> Message:
    """The text keeps no reason; the kernel may know one."""
    if told and ranks:
        return say(
            "CRA007.claim_storage",
            "{ranks:ranks} failed because a file could not be written, and the kernel tells of"
            " trouble with the storage",
            ranks=ranks,
        )
    if told:
        return say(
            "CRA007.claim_storage_nobody",
            "a process failed because a file could not be written, and the kernel tells of trouble"
            " with the storage",
        )
    if ranks:
        return say(
            "CRA007.claim_refused",
            "{ranks:ranks} failed because a file could not be written; the error does not tell why",
            ranks=ranks,
        )
    return say(
        "CRA007.claim_refused_nobody",
        "a process failed because a file could not be written; the error does not tell why",
    )


def _is_of_storage(event: KernelEvent) -> bool:
    return event.problem is KernelProblem.STORAGE_STALL


def _shared_memory(incident: Incident) -> bool:
    """A worker died of a bus error: the full file system is `/dev/shm`."""
    return any(e.worker and e.signal == signal.SIGBUS for e in incident.all(ProcessEnded))
