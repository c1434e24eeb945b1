"""A GPU could not reach another GPU's memory directly.

## What it finds
CUDA's or NCCL's refusal of peer access, failed IPC handles, "P2P is disabled between NVLINK
connected GPUs", IOMMU faults in the kernel log beside a job that is stuck, and a
`p2pBandwidthLatencyTest` in which GPUs that may reach each other directly move far less data so
than by way of the host's memory.

## Why it hangs
Direct transfers between GPUs pass PCIe switches and the IOMMU. Where access control (ACS) or the
IOMMU redirects them, or the driver does not support them, transfers fail, or worse, never arrive:
all GPUs then show 100 % and nothing is printed.

## When it stays quiet
A silent hang on consumer GPUs proves nothing: shared memory and drivers hang alike. "Already
enabled" is not a failure. After a lost rank or a stop a failed handle is its echo. A slow direct
way says nothing of a job that ended well.

## How to confirm
`p2pBandwidthLatencyTest` of the CUDA samples (it also *verifies* data); one run with
`NCCL_P2P_DISABLE=1`: if it works, peer access is at fault; `nvidia-smi topo -p2p r`.

## What to do
Boot with `iommu=pt` or with the IOMMU off, disable ACS in the BIOS or with `setpci`; share the IPC
and PID namespaces between containers; until then `NCCL_P2P_DISABLE=1`.

## References
NCCL documentation, "GPU-to-GPU communication: PCI Access Control Services (ACS)".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import (
    CommunicatorStage,
    DeviceFault,
    DeviceProblem,
    KernelEvent,
    KernelProblem,
    NcclReason,
    PeerPathMeasured,
    StackSeen,
)
from unhang.model.events.base import Seen
from unhang.model.incident import Manner
from unhang.model.pci import pci_address
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.model.stack_states import Doing
from unhang.rules.shared import consequences, order, rivals, speakers

_FAR_LESS = 0.5
"""Of what the way by the host's memory carries: a direct way that works carries as much or more."""


@rule(
    "NET010",
    "peer-access-refused",
    cause=Cause.P2P_FAULT,
    needs={Fact.NCCL_WARNINGS, Fact.DEVICE_ERRORS, Fact.KERNEL_LOG, Fact.GPU_TABLE},
    explains=consequences.OF_A_BROKEN_SETUP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding: access is refused, slower than none, or faulted beside a stuck job."""
    refused: list[Seen] = [
        *speakers.nccl(incident, NcclReason.PEER_ACCESS),
        *(
            d
            for d in incident.all(DeviceFault)
            if d.problem is DeviceProblem.PEER and not d.warning
        ),
    ]
    faults = [k for k in incident.all(KernelEvent) if k.problem is KernelProblem.IOMMU_FAULT]
    if refused:
        yield _finding(
            incident,
            refused,
            Strength.PROVES,
            say("NET010.claim", "direct access between GPUs is refused on {hosts}: {text}"),
            say(
                "NET010.why",
                "NCCL moves data between GPUs of a host directly, and was not allowed to.",
            ),
        )
    elif slow := [m for m in incident.all(PeerPathMeasured) if _is_slow(m)]:
        if not incident.finished:
            yield _of_measure(incident, slow[-1], faults)
    elif faults:
        sure = Strength.SUPPORTS if _is_stuck(incident, faults) else Strength.HINTS
        yield _finding(
            incident,
            faults,
            sure,
            say("NET010.claim_iommu", "the IOMMU of {hosts} faults while the job is stuck: {text}"),
            say(
                "NET010.why_iommu",
                "Transfers between GPUs that the IOMMU rejects never arrive, and no error reaches"
                " the program.",
            ),
        )


def _is_stuck(incident: Incident, faults: list[KernelEvent]) -> bool:
    """Whether a call timed out; or processes wait by their stacks, on GPUs that had the faults."""
    waits = any(s.doing in (Doing.WAITS, Doing.DEVICE) for s in incident.stances) or any(
        seen.waiting for seen in incident.all(StackSeen)
    )
    gpus = {pci_address(c.bus_id or "") for c in incident.all(CommunicatorStage)} - {None}
    return bool(incident.calls) or (
        waits and any(pci_address(fault.device or "") in gpus for fault in faults)
    )


def _is_slow(measured: PeerPathMeasured) -> bool:
    return measured.direct_gbps < _FAR_LESS * measured.staged_gbps


def _of_measure(
    incident: Incident, measured: PeerPathMeasured, faults: list[KernelEvent]
) -> Finding:
    failed = any(f.manner in order.DECISIVE for f in incident.failures)
    return check.finding(
        Strength.HINTS if failed else Strength.SUPPORTS,
        claim=say(
            "NET010.claim_slow",
            "GPU {one} and GPU {other} move {direct:.1f} GB/s directly, and {staged:.1f} GB/s by"
            " way of the host's memory",
            one=measured.one,
            other=measured.other,
            direct=measured.direct_gbps,
            staged=measured.staged_gbps,
        ),
        why=say(
            "NET010.why_slow",
            "Direct copies that work are faster: the IOMMU, access control or the driver breaks"
            " these.",
        ),
        explains=consequences.OF_A_BROKEN_SETUP | {Cause.EXTERNAL_STOP},
        evidence=[measured, *faults],
    )


def _finding(
    incident: Incident,
    found: list[Seen] | list[KernelEvent],
    sure: Strength,
    claim: Message,
    why: Message,
) -> Finding:
    ordered = speakers.in_order(found)
    first = ordered[0]
    against = rivals.of_errors(incident, ordered, kin=frozenset({Manner.DEVICE}))
    text = getattr(first, "detail", "") or getattr(first, "message", "") or first.source.text
    return check.finding(
        sure,
        claim=claim.using(hosts=speakers.hosts(found) or "a host", text=text[:160]),
        why=why,
        rival=against,
        culprit_hosts=speakers.minority_hosts(incident, found),
        at=first.at,
        evidence=found,
    )
