"""Shared memory is full: data-loader workers die of bus errors.

## What it finds
A data loader's worker that ended by SIGBUS, PyTorch's own sentence about insufficient shared
memory, or a rank that ended by SIGBUS (-7, 135).

## Why it hangs
Workers hand batches to their rank through files in `/dev/shm`. When it is full, the write itself
succeeds and the first touch of the page kills the process. The rank fails, or waits for a batch
forever, and the others wait for it.

## When it stays quiet
A rank's SIGBUS without a data loader in sight only supports it: a truncated memory-mapped data set
ends in the same way, and is told where the stack of the crash shows the program's own code. After a
stop from outside it is a hint.

## How to confirm
`df -h /dev/shm` inside the container while the job runs.

## What to do
`docker run --ipc=host` or `--shm-size=16g`; in Kubernetes an `emptyDir` with `medium: Memory` at
`/dev/shm`; `torch.multiprocessing.set_sharing_strategy("file_system")`; fewer workers.

## References
`torch/utils/data/_utils/signal_handling.py`; `shm_overview(7)`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence

from unhang.model.events import (
    ExceptionKind,
    ProcessEnded,
    PythonException,
    SharedMemorySeen,
)
from unhang.model.finding import Collect
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Failure, Manner, ranks_of
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.crash.sameness import failed_in_program
from unhang.rules.shared import consequences, order

_ROOM, _FULL = 0.6, 0.9
"""Shares of shared memory below and above which it is not, or is, what ran out."""
_SPACE = Collect.of("shm_space")


@rule(
    "CRA006",
    "shared-memory-full",
    cause=Cause.SHM_SMALL,
    needs={Fact.EXITS, Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_RANK,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding: workers that died of it, else ranks that did."""
    said: list[ProcessEnded | PythonException] = [
        *(e for e in incident.all(ProcessEnded) if e.worker and e.signal == signal.SIGBUS),
        *(
            e
            for e in incident.all(PythonException)
            if e.kind is ExceptionKind.SHARED_MEMORY and not e.handled
        ),
    ]
    said = [e for e in said if not order.survived(incident, e)]
    if said:
        ranks = frozenset(e.origin.rank for e in said if e.origin.rank is not None)
        ranks = ranks or _only_one_that_failed(incident)
        yield _finding(
            incident,
            said,
            Strength.PROVES,
            say(
                "CRA006.claim", "data-loader workers died because shared memory (/dev/shm) is full"
            ),
            ranks,
        )
        return
    ended = [
        f
        for f in incident.failures
        if f.signal == signal.SIGBUS
        and f.manner in (Manner.CRASHED, Manner.EXITED)
        and not failed_in_program(f)
    ]
    if ended:
        ranks = ranks_of(ended)
        looks = incident.all(SharedMemorySeen)
        if looks and max(look.share for look in looks) < _ROOM:
            yield _with_room(ended, ranks, max(looks, key=lambda look: look.share))
            return
        yield _finding(
            incident,
            ended,
            Strength.SUPPORTS,
            say(
                "CRA006.claim_rank",
                "a process ended by SIGBUS, most likely because /dev/shm is full",
            ),
            ranks if len(ended) == 1 else NO_RANKS,
            hosts=_full_on(looks),
        )


def _with_room(ended: Sequence[Failure], ranks: Ranks, look: SharedMemorySeen) -> Finding:
    """SIGBUS where shared memory has room: a mapped file that became shorter, or the machine."""
    return check.finding(
        Strength.SUPPORTS,
        cause=Cause.RANK_CRASH,
        claim=say(
            "CRA006.claim_room",
            "a process ended by SIGBUS while /dev/shm was full to {percent} % only",
            percent=round(look.share * 100),
        ),
        why=say(
            "CRA006.why_room",
            "A page that is mapped from a file cannot be had: most often the file was replaced or"
            " cut while it was mapped, or its storage failed.",
        ),
        culprits=ranks if len(ranks) == 1 else NO_RANKS,
        at=ended[0].at,
        evidence=[*ended, look],
    )


def _full_on(looks: Sequence[SharedMemorySeen]) -> frozenset[str]:
    """The hosts on which it was full, where on others it was not."""
    full = {look.origin.host for look in looks if look.share >= _FULL}
    told = {look.origin.host for look in looks}
    return frozenset(h for h in full if h is not None) if full < told else frozenset()


def _only_one_that_failed(incident: Incident) -> Ranks:
    """The rank whose workers they were, where just one process left by itself."""
    left = [f for f in incident.failures if f.manner in (Manner.EXITED, Manner.RAISED)]
    return ranks_of(left) if len(left) == 1 else NO_RANKS


def _finding(
    incident: Incident,
    facts: Sequence[order.Placed],
    strength: Strength,
    claim: Message,
    ranks: Ranks,
    *,
    hosts: frozenset[str] = frozenset(),
) -> Finding:
    first = order.earliest(facts) or facts[0]
    stopped = order.stop_before(incident, first) is not None
    return check.finding(
        Strength.HINTS if stopped else strength,
        claim=claim,
        why=say(
            "CRA006.why",
            "Data-loader workers hand batches over through files in /dev/shm. When it is full,"
            " the first touch of a page ends the process with a bus error.",
        ),
        against=say("CRA006.against_stopped", "the job had been stopped from outside before")
        if stopped
        else None,
        culprits=ranks,
        culprit_hosts=hosts,
        at=first.at,
        evidence=facts,
        collect=(_SPACE,),
    )
