"""A GPU ran out of memory.

## What it finds
PyTorch's, JAX's or NCCL's failed allocation on a GPU, with what was asked for and who holds the
memory.

## Why it hangs
The rank raises and leaves, or loses NCCL's buffers in the middle of a set-up; the others wait for
it, or report a connection that a local peer closed, sometimes printed before the allocation's own
message.

## When it stays quiet
When the program caught the error and went on, unless the ranks came apart by it; when the size is
absurd (a by-product of a corrupted context); after a lost rank, a stop or a time-out it is a hint.
Memory that *another* process holds is a shared GPU, and says nothing about the batch size.

## How to confirm
`nvidia-smi` on that host while the job starts; `torch.cuda.memory_summary()` before the failing
step.

## What to do
Shared GPU: end the other process, or give the job GPUs of its own. Else: smaller batches or
sequences, activation checkpointing, sharding, `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.

## References
PyTorch documentation, "Understanding CUDA memory usage".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import DeviceFault
from unhang.model.ids import Ranks
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.device.allocations import Allocation, find_allocations, find_caught
from unhang.rules.shared import consequences, rivals, speakers

_KIN = frozenset({Manner.GPU_OOM})


@rule(
    "DEV004",
    "gpu-out-of-memory",
    cause=Cause.GPU_OOM,
    needs={Fact.DEVICE_ERRORS, Fact.NCCL_WARNINGS, Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_GPU
    | {Cause.GPU_KERNEL_FAULT, Cause.MODEL_DIVERGENCE, Cause.DESYNC},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all allocations that failed."""
    found = find_allocations(incident)
    caught = [] if found else find_caught(incident)
    if found or caught:
        yield _finding(incident, found or caught, Strength.PROVES if found else Strength.SUPPORTS)


def _finding(incident: Incident, found: Sequence[Allocation], sure: Strength) -> Finding:
    first = found[0]
    against = rivals.of_errors(incident, found, kin=_KIN)
    culprits = speakers.unless_all(incident, speakers.ranks(incident, found))
    shared = next((d for d in found if isinstance(d, DeviceFault) and _is_shared(d)), None)
    return check.finding(
        sure,
        claim=_claim(found, culprits, shared),
        why=say(
            "DEV004.why_shared",
            "Another program shares the GPU: the batch size is not the problem.",
        )
        if shared is not None
        else say("DEV004.why", "The rank exits when the allocation fails; the others wait for it."),
        rival=against,
        culprits=culprits,
        explains=None if sure is Strength.PROVES else check.explains | {Cause.EXTERNAL_STOP},
        at=first.at,
        evidence=found,
    )


def _claim(found: Sequence[Allocation], culprits: Ranks, shared: DeviceFault | None) -> Message:
    asked = next((d.asked_bytes for d in found if isinstance(d, DeviceFault)), None)
    if shared is not None:
        claim = (
            say(
                "DEV004.claim_shared",
                "{ranks:ranks} ran out of GPU memory; another process holds {other:bytes}"
                " of that GPU",
            )
            if culprits
            else say(
                "DEV004.claim_shared_nobody",
                "a GPU ran out of memory; another process holds {other:bytes} of it",
            )
        )
        return claim.using(ranks=culprits, other=shared.other_process_bytes)
    if asked is not None:
        claim = (
            say("DEV004.claim", "{ranks:ranks} ran out of GPU memory (asked for {asked:bytes})")
            if culprits
            else say("DEV004.claim_nobody", "a GPU ran out of memory (asked for {asked:bytes})")
        )
        return claim.using(ranks=culprits, asked=asked)
    if culprits:
        return say("DEV004.claim_unsized", "{ranks:ranks} ran out of GPU memory", ranks=culprits)
    return say("DEV004.claim_unsized_nobody", "a GPU ran out of memory")


def _is_shared(fault: DeviceFault) -> bool:
    """Whether another process holds more of the GPU than a bare context does, and than ours."""
    other, own = fault.other_process_bytes, fault.own_bytes
    return other is not None and other > 4 << 30 and (own is None or 3 * other > own)
