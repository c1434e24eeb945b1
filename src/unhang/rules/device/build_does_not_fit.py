"""The program's CUDA build does not fit the driver or the GPU.

## What it finds
A driver that is too old, or of another version than its library; no kernel image for the GPU; an
undefined symbol, or a CUDA library that is not there in the version asked for.

## Why it hangs
The rank raises at its first CUDA call; on a mixed cluster only some hosts do, and the others wait
for them.

## When it stays quiet
A mere warning ("is not compatible with the current PyTorch installation", a driver found too old
at import) is a hint where something else failed.

## How to confirm
`nvidia-smi` (driver and the newest CUDA that it runs), `torch.version.cuda`,
`torch.cuda.get_arch_list()` against `torch.cuda.get_device_capability()`, on every host.

## What to do
A torch wheel of a CUDA that the driver supports and that was built for the GPU's architecture, or a
newer driver; after a driver's update, reboot.

## References
CUDA compatibility guide; CUDA runtime API, error codes 35, 209, 222, 803 and 804.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import (
    DeviceFault,
    DeviceProblem,
    ExceptionKind,
    NcclReason,
    PythonException,
)
from unhang.model.events.base import Seen
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals, speakers

_UNFIT = frozenset({DeviceProblem.DRIVER, DeviceProblem.NO_KERNEL})


@rule(
    "DEV009",
    "build-does-not-fit-driver-or-gpu",
    cause=Cause.VERSION_MISMATCH,
    needs={Fact.DEVICE_ERRORS, Fact.NCCL_WARNINGS, Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_GPU | {Cause.GPU_KERNEL_FAULT},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for errors, else for symbols, else for warnings."""
    faults = [d for d in incident.all(DeviceFault) if d.problem in _UNFIT]
    errors: list[Seen] = [d for d in faults if not d.warning]
    errors += speakers.nccl(incident, NcclReason.CUDA_DRIVER)
    symbols: list[Seen] = [
        e
        for e in incident.all(PythonException)
        if e.kind is ExceptionKind.LIBRARY and not e.handled and not order.survived(incident, e)
    ]
    symbols += speakers.nccl(incident, NcclReason.SYMBOL)
    if errors:
        yield _finding(incident, errors, Strength.PROVES)
    elif symbols:
        yield _finding(incident, symbols, Strength.SUPPORTS)
    elif faults:
        yield _finding(incident, list(faults), Strength.HINTS)


def _finding(incident: Incident, found: list[Seen], sure: Strength) -> Finding:
    ordered = speakers.in_order(found)
    first = ordered[0]
    against = rivals.of_errors(incident, ordered, kin=frozenset({Manner.DEVICE}))
    culprits = speakers.minority(incident, found)
    text = getattr(first, "message", "") or getattr(first, "detail", "")
    return check.finding(
        sure,
        claim=say(
            "DEV009.claim",
            "the CUDA build does not fit the driver or the GPU: {text}",
            text=text[:160],
        ),
        why=say("DEV009.why", "The first CUDA call of the rank fails; the others wait for it."),
        rival=against,
        culprits=culprits,
        culprit_hosts=speakers.minority_hosts(incident, found),
        at=first.at,
        evidence=found,
    )
