"""A GPU ran out of memory.

## What it finds
PyTorch's, JAX's or NCCL's failed allocation on a GPU, with what was asked for and who holds the
memory.

## Why it hangs
The rank raises and leaves, or loses NCCL's buffers in the middle of a set-up; the others wait for
it, or report a connection that a local peer closed, sometimes printed before the allocation's own
message.

## When it stays quiet
When the program caught the error and went on; when the size is absurd (a by-product of a corrupted
context); after a lost rank, a stop or a time-out it is a hint. Memory that *another* process holds
is a shared GPU, and says nothing about the batch size.

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

from unhang.model.causes import Cause
from unhang.model.events import DeviceFault
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident, Manner
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.rules import witnesses
from unhang.rules.device.allocations import Allocation, find_allocations
from unhang.rules.device.echoes import ECHOES_OF_A_LOST_GPU

_KIN = frozenset({Manner.GPU_OOM})


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all allocations that failed."""
    found = find_allocations(incident)
    if found:
        yield _finding(incident, found)


def _finding(incident: Incident, found: Sequence[Allocation]) -> Finding:
    first = found[0]
    against = witnesses.rival(incident, found, kin=_KIN)
    culprits = witnesses.minority(incident, found)
    shared = next((d for d in found if isinstance(d, DeviceFault) and _is_shared(d)), None)
    asked = next((d.asked_bytes for d in found if isinstance(d, DeviceFault)), None)
    kind = "_shared" if shared is not None else "_unsized" if asked is None else ""
    who = "" if culprits else "_nobody"
    return Finding(
        rule=RULE.code,
        cause=Cause.GPU_OOM,
        strength=witnesses.weaker(Strength.PROVES, against),
        claim=Message(
            key=f"DEV004.claim{kind}{who}",
            values={
                "ranks": culprits,
                "asked": asked,
                "other": None if shared is None else shared.other_process_bytes,
            },
        ),
        why=Message(key="DEV004.why_shared" if shared is not None else "DEV004.why"),
        against=against,
        culprits=culprits,
        explains=ECHOES_OF_A_LOST_GPU | {Cause.GPU_KERNEL_FAULT},
        at=first.at,
        evidence=witnesses.evidence(found),
    )


def _is_shared(fault: DeviceFault) -> bool:
    """Whether another process holds more of the GPU than a bare context does, and than ours."""
    other, own = fault.other_process_bytes, fault.own_bytes
    return other is not None and other > 4 << 30 and (own is None or 3 * other > own)


RULE = Rule(
    code="DEV004",
    name="gpu-out-of-memory",
    cause=Cause.GPU_OOM,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.DEVICE_ERRORS, Fact.NCCL_WARNINGS, Fact.EXCEPTIONS}),
    check=check,
)
