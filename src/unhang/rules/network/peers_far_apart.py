"""GPUs that NCCL connects directly lie behind different bridges or processors.

## What it finds
In NCCL's log a direct channel (`via P2P/…`) between two GPUs of a host whose link `nvidia-smi topo
-m` calls SYS, NODE or PHB, beside a first collective that nobody finished, or beside
refused peer access or faults of the IOMMU.

## Why it hangs
Such transfers pass the host's bridges. Where the IOMMU or access control (ACS) redirects them they
never arrive, and all GPUs wait at 100 %.

## When it stays quiet
Most such hosts work: the topology alone is not a cause, and beside other evidence it is a hint that
supports it. Transfers over NVLink, and channels through host memory (`via SHM`), do not count.

## How to confirm
One run with `NCCL_P2P_DISABLE=1`; `p2pBandwidthLatencyTest` of the CUDA samples, which verifies
data.

## What to do
Disable ACS and the IOMMU's translation for the GPUs (BIOS, `iommu=pt`); until then
`NCCL_P2P_DISABLE=1`, or `NCCL_P2P_LEVEL=PXB`.

## References
NCCL user guide, "Troubleshooting: GPU-to-GPU communication"; `nvidia-smi topo -h`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from unhang.model.events import (
    CommunicatorStage,
    DeviceFault,
    DeviceProblem,
    KernelEvent,
    KernelProblem,
    NcclReason,
    TopologySeen,
    TransportUsed,
)
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import speakers

_FAR = frozenset({"SYS", "NODE", "PHB"})
_DIRECT = "P2P"


class _Pair(NamedTuple):
    """Two GPUs that are connected directly over a long way."""

    channel: TransportUsed
    topology: TopologySeen
    one: int
    other: int
    kind: str


@rule("NET203", "peers-far-apart", cause=Cause.P2P_FAULT, needs={Fact.GPU_TABLE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one hint for the first such pair, where something speaks of peer-to-peer trouble."""
    pair = next(_far_pairs(incident), None)
    if pair is None or not (_stuck_from_the_start(incident) or _refused(incident)):
        return
    yield check.finding(
        Strength.HINTS,
        claim=say(
            "NET203.claim",
            "NCCL connects GPUs {one} and {other} directly, although they are far apart ({kind}).",
            one=pair.one,
            other=pair.other,
            kind=pair.kind,
        ),
        why=say(
            "NET203.why",
            "Such transfers pass the host's bridges; the IOMMU or ACS may swallow them.",
        ),
        against=say("NET203.against", "Most hosts of that layout work."),
        culprit_hosts=speakers.hosts([pair.topology]),
        evidence=[pair.topology, pair.channel],
    )


def _far_pairs(incident: Incident) -> Iterator[_Pair]:
    devices = {
        stage.comm_rank: stage.device
        for stage in incident.all(CommunicatorStage)
        if stage.comm_rank is not None and stage.device is not None
    }
    direct = [t for t in incident.all(TransportUsed) if t.transport == _DIRECT]
    for topology in incident.all(TopologySeen):
        for channel in direct:
            if channel.sender is None or channel.receiver is None:
                continue
            one, other = devices.get(channel.sender), devices.get(channel.receiver)
            if one is None or other is None or one == other:
                continue
            kind = topology.between(one, other)
            if kind in _FAR:
                yield _Pair(channel, topology, one, other, kind)


def _stuck_from_the_start(incident: Incident) -> bool:
    """A collective timed out of which the group had finished none before."""
    sides = (side for call in incident.calls for side in call.sides)
    return any(side.completed in {-1, 0} for side in sides)


def _refused(incident: Incident) -> bool:
    """Peer access was refused, or the IOMMU saw faults."""
    faults = (k.problem is KernelProblem.IOMMU_FAULT for k in incident.all(KernelEvent))
    peers = (d.problem is DeviceProblem.PEER for d in incident.all(DeviceFault))
    return any(faults) or any(peers) or bool(speakers.nccl(incident, NcclReason.PEER_ACCESS))
