"""Events of reports on the GPUs of a host: how they are connected, and who uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness


class DeviceLink(NamedTuple):
    """How two devices of a host reach each other, as `nvidia-smi topo -m` says it.

    `kind` is `NV` and a number (NVLink), or the farthest thing on the way: PIX, PXB (bridges of
    PCIe), PHB (the host's own bridge), NODE (between bridges of one NUMA node), SYS (between NUMA
    nodes).
    """

    one: str
    other: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySeen(Seen, fact=Fact.GPU_TABLE, witness=Witness.TOOL, role=Role.REPORT):
    """The matrix of `nvidia-smi topo -m` of one host.

    Attributes:
        gpus: their indices.
        links: each pair once, GPUs (`GPU0`) and network adapters (`mlx5_0`).
    """

    gpus: tuple[int, ...]
    links: tuple[DeviceLink, ...]

    def between(self, one: int, other: int) -> str | None:
        """The kind of the link of two GPUs, or None where the matrix does not tell."""
        pair = {f"GPU{one}", f"GPU{other}"}
        return next((link.kind for link in self.links if {link.one, link.other} == pair), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState(Seen, fact=Fact.GPU_TABLE, witness=Witness.TOOL, role=Role.REPORT):
    """A GPU in the table of plain `nvidia-smi`.

    Attributes:
        index: as nvidia-smi counts, which is not always as CUDA does.
        bus_id: PCI address.
        used_mib, total_mib: memory in MiB; None where it cannot be read.
    """

    index: int
    bus_id: str
    used_mib: int | None = None
    total_mib: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUuid(Seen, fact=Fact.GPU_TABLE, witness=Witness.TOOL, role=Role.REPORT):
    """What the UUID of a GPU belongs to.

    Attributes:
        uuid: `GPU-…`, the same on every list of that GPU.
        index: by `nvidia-smi -L`.
        bus_id: PCI address, by the driver.
    """

    uuid: str
    index: int | None = None
    bus_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess(Seen, fact=Fact.GPU_TABLE, witness=Witness.TOOL, role=Role.REPORT):
    """A process that computes on a GPU, by the table of plain `nvidia-smi`.

    Attributes:
        gpu: index of the GPU.
        pid: on the host; in a container the process has another one.
        used_mib: memory in MiB, None where it is not told.
    """

    gpu: int
    pid: int
    name: str
    used_mib: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerPathMeasured(Seen, fact=Fact.GPU_TABLE, witness=Witness.TOOL, role=Role.REPORT):
    """What CUDA's `p2pBandwidthLatencyTest` measured between two GPUs that may reach each other.

    Attributes:
        one, other: the pair whose direct way is worst, by the test's numbers.
        direct_gbps: GB/s with peer access.
        staged_gbps: GB/s without it, by way of the host's memory.
    """

    one: int
    other: int
    direct_gbps: float
    staged_gbps: float
