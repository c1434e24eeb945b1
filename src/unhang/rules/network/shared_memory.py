"""NCCL or UCX could not make its shared-memory segments.

## What it finds
NCCL that cannot make, extend or attach a segment in `/dev/shm`, and UCX that asks to check it.

## Why it hangs
Ranks of one host that cannot reach each other's GPUs directly meet in shared memory, about 10 MB
for each pair and channel. `/dev/shm` is a file system in memory; containers get 64 MB of it. The
rank raises "unhandled system error"; its peers report broken connections a moment later.

## When it stays quiet
Segments that exist but that the CUDA driver refuses to register are weaker evidence.

## How to confirm
`df -h /dev/shm` inside the container while the job starts; `ls /dev/shm` for leftovers of dead
jobs.

## What to do
`docker run --ipc=host` or `--shm-size=16g`; in Kubernetes an `emptyDir` with `medium: Memory` at
`/dev/shm`; remove stale `nccl-*` files.

## References
NCCL documentation, "Troubleshooting: shared memory"; `src/misc/shmutils.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import NcclFailure, NcclReason
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import consequences, speakers


@rule(
    "NET011",
    "shared-memory-segment-refused",
    cause=Cause.SHM_SMALL,
    needs={Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_BROKEN_SETUP | {Cause.NET_INTERFACE, Cause.HOST_OOM},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for segments without space, else for those that could not be made."""
    full = speakers.nccl(incident, NcclReason.SHM_SPACE)
    opened = speakers.nccl(incident, NcclReason.SHM_OPEN)
    segments = [e for e in opened if "uda failure" not in e.detail]
    if full:
        yield _finding(
            incident,
            full,
            Strength.PROVES,
            say("NET011.claim", "shared memory of {hosts} is full: {text}"),
        )
    elif segments:
        # The segment was there and CUDA would not register it: the space may not be the matter.
        registered = len(segments) < len(opened)
        sure = Strength.SUPPORTS if registered else Strength.PROVES
        yield _finding(
            incident,
            segments,
            sure,
            say(
                "NET011.claim_segment",
                "a shared-memory segment could not be made on {hosts}: {text}",
            ),
        )


def _finding(
    incident: Incident, found: Sequence[NcclFailure], sure: Strength, claim: Message
) -> Finding:
    first = found[0]
    return check.finding(
        sure,
        claim=claim.using(hosts=speakers.hosts(found) or "a host", text=first.detail[:160]),
        why=say(
            "NET011.why",
            "Ranks of one host exchange data through /dev/shm; a container gets 64 MB of it"
            " unless told otherwise.",
        ),
        culprit_hosts=speakers.minority_hosts(incident, found),
        at=first.at,
        evidence=found,
    )
