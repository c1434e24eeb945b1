"""A kernel on a GPU failed: illegal access, failed assert, launch failure.

## What it finds
CUDA's illegal memory access, device-side assert, misaligned address and launch failure, the failed
assertion of a kernel, errors of cuBLAS and cuDNN; in the main thread or inside the watchdog.

## Why it hangs
A failed kernel ends the CUDA context of its process. The error surfaces at the next CUDA call,
wherever that is: often in NCCL's watchdog, whose line is then only the first that noticed. The
other ranks wait in the collective that this rank never finishes.

## When it stays quiet
A fault that the kernel log explains by hardware belongs to the GPU; an unspecified launch failure
may be the GPU's as well, and only supports. A fault after a lost rank, a
stop or a time-out is a hint. When most ranks report it, no rank is guilty. Errors of cuBLAS alone
may be memory that ran out.

## How to confirm
`CUDA_LAUNCH_BLOCKING=1` for the true Python line; `compute-sanitizer` for the address; indices and
labels against the size of the table they look up, on the CPU.

## What to do
An assert of `IndexKernel`, `Loss` or `Embedding` is an index out of range in the data or in the
vocabulary: fix the input. Otherwise bisect custom kernels, newest first.

## References
CUDA runtime API, error codes 700, 710 and 719; PyTorch documentation, "CUDA semantics".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import (
    BarrierMissing,
    DeviceFault,
    DeviceProblem,
    NcclFailure,
    NcclReason,
    Waiter,
)
from unhang.model.ids import Ranks
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals, speakers

_SURE = frozenset({DeviceProblem.ILLEGAL_ACCESS, DeviceProblem.ASSERT})
_UNSPECIFIED = frozenset({DeviceProblem.LAUNCH_FAILURE})
"""CUDA's word for everything else: a kernel's fault as a rule, a dying GPU's at times."""
_KIN = frozenset({Manner.DEVICE})
_Told = DeviceFault | NcclFailure


@rule(
    "DEV003",
    "gpu-kernel-failed",
    cause=Cause.GPU_KERNEL_FAULT,
    needs={Fact.DEVICE_ERRORS, Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_LOST_GPU,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the kernels that failed, else for a library that complains."""
    faults = [d for d in incident.all(DeviceFault) if not d.warning]
    sure = [d for d in faults if d.problem in _SURE]
    unspecified = [] if _trapped(incident) else [d for d in faults if d.problem in _UNSPECIFIED]
    library = [d for d in faults if d.problem is DeviceProblem.CUBLAS]
    unknown = [d for d in faults if d.problem is DeviceProblem.OTHER and d.in_watchdog]
    through_nccl = () if _trapped(incident) else speakers.nccl(incident, NcclReason.CUDA_KERNEL)
    if sure:
        yield _finding(incident, speakers.in_order([*sure, *unspecified]), Strength.PROVES)
    elif unspecified:
        yield _finding(incident, speakers.in_order(unspecified), Strength.SUPPORTS)
    elif through_nccl:
        yield _finding(incident, through_nccl, Strength.SUPPORTS)
    elif library:
        memory = all("ALLOC" in d.message or "NOT_INIT" in d.message for d in library)
        yield _finding(
            incident,
            speakers.in_order(library),
            Strength.HINTS if memory else Strength.SUPPORTS,
        )
    elif unknown:
        yield _finding(incident, speakers.in_order(unknown), Strength.SUPPORTS)


def _trapped(incident: Incident) -> bool:
    """Whether kernels gave up waiting for a peer: they trap themselves, as if they had failed."""
    return any(b.waiter is Waiter.KERNEL for b in incident.all(BarrierMissing))


def _finding(incident: Incident, found: Sequence[_Told], sure: Strength) -> Finding:
    first = found[0]
    against = _against(incident, found)
    culprits = _earliest(incident, found)
    text = first.message if isinstance(first, DeviceFault) else first.detail
    return check.finding(
        sure,
        claim=say(
            "DEV003.claim",
            "a GPU kernel failed on {ranks:ranks}: {text}",
            ranks=culprits,
            text=text[:160],
        )
        if culprits
        else say("DEV003.claim_nobody", "a GPU kernel failed: {text}", text=text[:160]),
        why=say(
            "DEV003.why",
            "A failed kernel ends the CUDA context; the next CUDA call, often in NCCL's"
            " watchdog, only reports it.",
        ),
        rival=against,
        culprits=culprits,
        at=first.at,
        evidence=found,
    )


def _against(incident: Incident, found: Sequence[_Told]) -> Message | None:
    """A stop, or the loss of another rank, before it. A frozen kernel may outlast a timeout."""
    first = found[0]
    own = isinstance(first, DeviceFault) and not first.in_watchdog
    return rivals.of_errors(incident, found, kin=_KIN, after_timeout=not own)


def _earliest(incident: Incident, found: Sequence[_Told]) -> Ranks:
    """Ranks that met it no later than a few seconds after the first, unless most did."""
    first = found[0]
    together = [e for e in found if (gap := order.gap_s(e, first)) is None or gap <= 2]
    return speakers.minority(incident, found) and speakers.ranks(incident, together)
