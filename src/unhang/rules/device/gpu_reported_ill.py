"""nvidia-smi reports a GPU as lost, with uncorrected memory errors, or slowed by its hardware.

## What it finds
`nvidia-smi` and `nvidia-smi -q`: a GPU that is lost, or of which nothing can be read (`ERR!`),
uncorrected ECC errors since the driver was loaded, a failed row remapping, a reset that is asked
for, slow-downs by heat or power.

## Why it hangs
A GPU that is lost or whose memory fails leaves its kernels unfinished; a slowed one makes all ranks
wait in every step.

## When it stays quiet
Counters of the GPU's whole life do not count. A report carries no time: unless CUDA or the kernel
log of this job says the same, errors and slow-downs are only a hint. A lost GPU counts for more,
and so does one that the hardware slows far below the others of the listing where nothing failed.

## How to confirm
`dmesg -T | grep -i xid` on that host, `dcgmi diag -r 3`.

## What to do
Drain the host; reset or replace the GPU.

## References
NVIDIA, "GPU Memory Error Management"; `nvidia-smi(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import (
    DeviceFault,
    DeviceProblem,
    HostProblem,
    HostReport,
    KernelEvent,
)
from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.device import xids
from unhang.rules.shared import speakers

_ILL = (
    HostProblem.GPU_LOST,
    HostProblem.REMAPPING_FAILED,
    HostProblem.ECC_UNCORRECTED,
    HostProblem.GPU_RESET_NEEDED,
    HostProblem.GPU_UNREADABLE,
    HostProblem.GPU_SLOWED_ALONE,
    HostProblem.GPU_SLOWED,
)
"""The gravest first."""


@rule("DEV201", "gpu-reported-ill", cause=Cause.GPU_HARDWARE, needs={Fact.HOST_REPORTS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the gravest report."""
    reports = [r for r in incident.all(HostReport) if r.problem in _ILL]
    if not reports:
        return
    gravest = min(reports, key=lambda r: _ILL.index(r.problem))
    alike = [r for r in reports if r.problem is gravest.problem]
    lost = gravest.problem is HostProblem.GPU_LOST or _is_all(incident, gravest)
    sure = lost or (gravest.problem is not HostProblem.GPU_SLOWED and _job_says_so(incident))
    yield check.finding(
        Strength.SUPPORTS if sure else Strength.HINTS,
        claim=say(
            "DEV201.claim",
            "nvidia-smi reports GPU {device}: {detail}",
            device=gravest.device or "?",
            detail=gravest.detail,
        ),
        why=say(
            "DEV201.why", "A GPU in that state leaves kernels unfinished, or makes all ranks wait."
        ),
        against=None
        if sure
        else say(
            "DEV201.against",
            "The report carries no time, and nothing in the job mentions that GPU.",
        ),
        culprits=speakers.minority(incident, alike) if sure else NO_RANKS,
        culprit_hosts=speakers.hosts(alike) if sure else frozenset(),
        evidence=alike,
    )


def _is_all(incident: Incident, report: HostReport) -> bool:
    """Whether a GPU is slowed by hardware while its peers are not, and nothing has failed."""
    alone = report.problem is HostProblem.GPU_SLOWED_ALONE
    return alone and not incident.failures and not incident.timeouts


def _job_says_so(incident: Incident) -> bool:
    """Whether CUDA or the kernel log tell of failing hardware too."""
    faults = (f.problem for f in incident.all(DeviceFault))
    hardware = any(p in {DeviceProblem.ECC, DeviceProblem.FELL_OFF} for p in faults)
    return hardware or any(xids.number(k) in xids.HARDWARE for k in incident.all(KernelEvent))
