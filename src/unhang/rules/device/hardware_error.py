"""CUDA or NCCL says that the GPU, its memory or its fabric failed.

## What it finds
Uncorrectable ECC errors, a GPU that is lost or off the bus, "system not yet initialized" (802),
multicast and NVLS set-up failures, uncorrectable NVLink errors.

## Why it hangs
The rank on the failing GPU raises or hangs in the driver, and every collective with it waits. On
machines with NVSwitch all GPUs answer 802 until the fabric manager runs, in the driver's version.

## When it stays quiet
An NVLink error, or an access to a peer's memory that fails, is also what a killed peer leaves
behind: alone it is a hint, as everything after a stop.

## How to confirm
`nvidia-smi -q -d ECC`, `dmesg -T | grep -i xid`, `systemctl status nvidia-fabricmanager`,
`nvidia-smi -q | grep -A2 Fabric`.

## What to do
802 and multicast: start the fabric manager (same version as the driver), then reset the GPUs;
`NCCL_NVLS_ENABLE=0` only works around it. ECC and lost GPUs: drain the host.

## References
CUDA runtime API, error codes 214, 220 and 802; NVIDIA Fabric Manager user guide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import DeviceFault, DeviceProblem, NcclFailure, NcclReason
from unhang.model.finding import Collect
from unhang.model.ids import NO_RANKS
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers

_BROKEN = frozenset({DeviceProblem.ECC, DeviceProblem.FELL_OFF})
_FABRIC = frozenset({DeviceProblem.FABRIC})
_LINK = frozenset({DeviceProblem.NVLINK})
_KERNEL_LOG = Collect.of("gpu_kernel_log")
_KIN = frozenset({Manner.DEVICE})
_Told = DeviceFault | NcclFailure


@rule(
    "DEV002",
    "gpu-or-fabric-failed",
    cause=Cause.GPU_HARDWARE,
    needs={Fact.DEVICE_ERRORS, Fact.NCCL_WARNINGS},
    explains=consequences.OF_FAILED_HARDWARE,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the most telling kind of failure."""
    broken = _told(incident, _BROKEN, NcclReason.CUDA_HARDWARE)
    fabric = _told(incident, _FABRIC, NcclReason.FABRIC)
    multicast = speakers.nccl(incident, NcclReason.NVLS)
    link = _told(incident, _LINK)
    if broken:
        yield _finding(incident, broken, Strength.PROVES, "broken")
    elif fabric and not _unfit(incident):
        yield _finding(incident, fabric, Strength.PROVES, "fabric")
    elif multicast:
        yield _finding(incident, multicast, Strength.SUPPORTS, "fabric")
    elif link:
        yield _finding(incident, link, Strength.HINTS, "link")


def _unfit(incident: Incident) -> bool:
    """Whether a driver of another release tells why the fabric is not ready."""
    return any(d.problem is DeviceProblem.DRIVER for d in incident.all(DeviceFault))


def _told(
    incident: Incident, problems: frozenset[DeviceProblem], *reasons: NcclReason
) -> list[_Told]:
    faults = [d for d in incident.all(DeviceFault) if d.problem in problems and not d.warning]
    return [*speakers.in_order(faults), *speakers.nccl(incident, *reasons)]


def _finding(incident: Incident, found: Sequence[_Told], sure: Strength, kind: str) -> Finding:
    first = found[0]
    against = None if kind == "broken" else rivals.of_errors(incident, found, kin=_KIN)
    if kind == "link" and against is None:
        against = say(
            "DEV002.against_peer",
            "CUDA says the same when the process on the other side of the link was killed.",
        )
    culprits = speakers.minority(incident, found) if kind == "broken" else NO_RANKS
    text = first.message if isinstance(first, DeviceFault) else first.detail
    return check.finding(
        sure,
        claim=say(
            "DEV002.claim",
            "the GPU of {ranks:ranks} failed: {text}",
            ranks=culprits,
            text=text[:160],
        )
        if culprits
        else say("DEV002.claim_nobody", "a GPU or its fabric failed: {text}", text=text[:160]),
        why=say(
            "DEV002.why_fabric",
            "GPUs behind NVSwitch cannot be used until the fabric manager has set up the switches.",
        )
        if kind == "fabric"
        else say("DEV002.why", "CUDA reports a fault of the hardware, not of the program."),
        rival=against,
        culprits=culprits,
        culprit_hosts=speakers.minority_hosts(incident, found),
        at=first.at,
        evidence=found,
        collect=(_KERNEL_LOG,),
    )
