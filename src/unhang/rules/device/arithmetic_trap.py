"""A rank ended by SIGFPE, as cuBLASLt does on a GPU that it does not know.

## What it finds
An exit by signal 8 (-8, 136); stronger with cuBLASLt in the stack or in the kernel's `trap divide
error` line, or on an H20.

## Why it hangs
cuBLASLt before 12.2.5 divides by a figure of the GPU that is zero on an H20. The process dies in
its first matrix product, without a traceback, and the others wait.

## When it stays quiet
A bare signal 8 may be any division by zero in native code: a hint.

## How to confirm
`pip list | grep cublas`; the innermost frames of the core file.

## What to do
`pip install "nvidia-cublas-cu12>=12.4.5.8"` (for a torch of CUDA 12), or a torch of a newer CUDA.

## References
NVIDIA cuBLAS release notes; `signal(7)`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from unhang.model.events import KernelEvent, KernelProblem, ProcessEnded, StackSeen, VersionSeen
from unhang.model.finding import Collect
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers

_SIGFPE = int(signal.SIGFPE)
_STACK = Collect.of("crash_stack")


@rule(
    "DEV010",
    "process-ended-by-sigfpe",
    cause=Cause.VERSION_MISMATCH,
    needs={Fact.EXITS, Fact.KERNEL_LOG},
    explains=consequences.OF_A_LOST_GPU,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all processes that ended by SIGFPE."""
    ended = [e for e in incident.all(ProcessEnded) if e.signal == _SIGFPE]
    traps = [k for k in incident.all(KernelEvent) if _is_division(k)]
    if not ended and not traps:
        return
    known = _is_known_pair(incident, traps)
    found = speakers.in_order([*ended, *traps])
    first = found[0]
    against = rivals.of_errors(incident, found)
    culprits = frozenset(e.rank for e in ended if e.rank is not None)
    yield check.finding(
        Strength.SUPPORTS if known else Strength.HINTS,
        claim=say(
            "DEV010.claim",
            "{ranks:ranks} ended by SIGFPE, as old cuBLAS does on an H20",
            ranks=culprits,
        )
        if culprits
        else say("DEV010.claim_nobody", "processes ended by SIGFPE, as old cuBLAS does on an H20"),
        why=say(
            "DEV010.why", "cuBLASLt divides by a figure of the GPU that older releases do not know."
        ),
        rival=against,
        against=None
        if known
        else say(
            "DEV010.against_bare",
            "Any division by zero in native code ends in the same signal.",
        ),
        culprits=culprits,
        at=first.at,
        evidence=found,
        collect=(_STACK,),
    )


def _is_division(event: KernelEvent) -> bool:
    return event.problem is KernelProblem.SEGFAULT and "divide" in event.detail


def _is_known_pair(incident: Incident, traps: list[KernelEvent]) -> bool:
    """CuBLASLt in a line that tells where it died, or an H20."""
    gpus = [v.version for v in incident.all(VersionSeen) if v.component == "gpu"]
    if any("H20" in gpu.split() for gpu in gpus):
        return True
    in_kernel_log = any("cublas" in k.detail.lower() for k in traps)
    return in_kernel_log or any("cublas" in s.frame.lower() for s in incident.all(StackSeen))
