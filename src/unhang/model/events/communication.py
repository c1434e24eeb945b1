"""Events of what lies below a collective: NCCL, Gloo, the store and the rendezvous."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.events.base import Seen
from unhang.model.events.meaning import Fact, Role, Witness
from unhang.model.ids import NO_RANKS, Rank, Ranks


class NcclClass(enum.Enum):
    """NCCL's result class (ncclResult_t)."""

    CUDA = "ncclUnhandledCudaError"
    SYSTEM = "ncclSystemError"
    INTERNAL = "ncclInternalError"
    ARGUMENT = "ncclInvalidArgument"
    USAGE = "ncclInvalidUsage"
    REMOTE = "ncclRemoteError"
    TIMEOUT = "ncclTimeout"


class NcclReason(enum.Enum):
    """What an NCCL warning or `Last error:` says. Named after what is observed."""

    IB_COMPLETION = "ib-completion"
    IB_FLUSHED = "ib-flushed"
    IB_PORT_EVENT = "ib-port-event"
    IB_QP_CONNECT = "ib-qp-connect"
    IB_MEMORY_LOCK = "ib-memory-lock"
    IB_DEVICE = "ib-device"
    OFI_ERROR = "ofi-error"
    CONNECT_REFUSED = "connect-refused"
    CONNECT_TIMED_OUT = "connect-timed-out"
    NO_ROUTE = "no-route"
    CONNECT_ABORTED = "connect-aborted"
    PEER_CLOSED = "peer-closed"
    LOCAL_PEER_CLOSED = "local-peer-closed"
    SOCKET_BROKEN = "socket-broken"
    NO_INTERFACE = "no-interface"
    NO_SHARED_SUBNET = "no-shared-subnet"
    ADDRESS_IN_USE = "address-in-use"
    WRONG_MAGIC = "wrong-magic"
    MESSAGE_TRUNCATED = "message-truncated"
    BOOTSTRAP_COUNT = "bootstrap-count"
    BOOTSTRAP_DUPLICATE = "bootstrap-duplicate"
    SHM_SPACE = "shm-space"
    SHM_OPEN = "shm-open"
    CUDA_OOM = "cuda-oom"
    CUDA_KERNEL = "cuda-kernel"
    CUDA_DRIVER = "cuda-driver"
    CUDA_ORDINAL = "cuda-ordinal"
    CUDA_OTHER = "cuda-other"
    CUDA_HARDWARE = "cuda-hardware"
    PEER_ACCESS = "peer-access"
    NVLS = "nvls"
    FABRIC = "fabric"
    DUPLICATE_GPU = "duplicate-gpu"
    NCCL_VERSIONS = "nccl-versions"
    NET_MISMATCH = "net-mismatch"
    SIZE_MISMATCH = "size-mismatch"
    TOPOLOGY = "topology"
    SYMBOL = "symbol"
    HOST_MEMORY = "host-memory"
    FILE_LIMIT = "file-limit"
    RANK_RANGE = "rank-range"
    PROXY_FOLLOW_UP = "proxy-follow-up"
    PLUGIN_NOISE = "plugin-noise"
    UNSPECIFIED = "unspecified"


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclFailure(Seen, fact=Fact.NCCL_WARNINGS, witness=Witness.PROCESS, role=Role.FAULT):
    """NCCL reports trouble: a WARN line, an exception text with its `Last error:`, or both.

    Attributes:
        error_class: NCCL's result class, None for WARN lines without one.
        reason: classified text; `UNSPECIFIED` when it says nothing more than its class.
        detail: the deciding text (WARN text or `Last error:`), shortened.
        warning: read from an NCCL WARN/INFO line of the process itself (not from an exception).
        asynchronous: raised by the watchdog while a collective was in flight.
        nccl_version: as printed (`2.21.5`).
        device: CUDA device index as the process sees it.
        peer: host or address of the other side.
        hca: InfiniBand device, such as `mlx5_3`.
        status, vendor_error: of an InfiniBand completion.
        ranks: ranks that the text names (duplicate GPU, version mismatch).
        operation: what was being done, such as `Connect`.
    """

    error_class: NcclClass | None = None
    reason: NcclReason
    detail: str
    warning: bool = False
    asynchronous: bool = False
    nccl_version: str | None = None
    device: int | None = None
    peer: str | None = None
    hca: str | None = None
    status: int | None = None
    vendor_error: int | None = None
    ranks: Ranks = NO_RANKS
    operation: str | None = None


class InitStage(enum.Enum):
    """Milestones in the life of a communicator."""

    START = "start"
    LAID_OUT = "laid-out"
    """The ranks know how they lie on nodes: `nNodes 8 localRanks 8 localRank 0`."""
    COMPLETE = "complete"
    ABORT = "abort"
    DESTROY = "destroy"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunicatorStage(Seen, fact=Fact.NCCL_INFO, witness=Witness.PROCESS, role=Role.CONNECTION):
    """`comm 0x… rank 3 nranks 8 … - Init START` and its relatives.

    Attributes:
        comm_id: `commId`, the same on all ranks; None before NCCL 2.16.
        comm_rank: rank in the communicator, `size` its number of ranks.
        bus_id: PCI bus id; the same (host, bus id) under two ranks = one GPU for two.
        nvml: the driver's index of the GPU, which a container counts anew.
    """

    stage: InitStage
    comm_id: str | None = None
    comm_rank: int | None = None
    size: int | None = None
    device: int | None = None
    bus_id: str | None = None
    nvml: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceUsed(Seen, fact=Fact.NCCL_INFO, witness=Witness.PROCESS, role=Role.CONNECTION):
    """The network interface that NCCL or Gloo bootstraps over."""

    interface: str
    address: str | None = None
    library: str = "nccl"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportUsed(Seen, fact=Fact.NCCL_INFO, witness=Witness.PROCESS, role=Role.CONNECTION):
    """What NCCL moves data with.

    Attributes:
        transport: `IB`, `Socket`, `P2P`, `SHM`, `NVLS`, or a plugin's name.
        via: the whole `via …` text of a channel, or the device list.
        fallback: NCCL looked for something faster and did not find it.
        sender, receiver: communicator ranks of a channel.
        channels: number of channels where the line gives one.
        link_gbps: bandwidth in GB/s of the best link that NCCL's topology search knows.
    """

    transport: str
    via: str = ""
    fallback: bool = False
    sender: int | None = None
    receiver: int | None = None
    channels: int | None = None
    link_gbps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BandwidthMeasured(Seen, fact=Fact.BANDWIDTH, witness=Witness.TOOL, role=Role.REPORT):
    """One row of nccl-tests: bus bandwidth in GB/s at a message size in bytes.

    Of a link alone (iperf, ethtool) the size is 0.
    """

    size_bytes: int
    busbw_gbps: float
    wrong: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGuessed(Seen, fact=Fact.GUESSES, witness=Witness.PROCESS, role=Role.CONNECTION):
    """A barrier before `set_device`: torch guesses the GPU of a rank."""

    device: int
    group_rank: Rank | None = None


class StoreProblem(enum.Enum):
    """What went wrong at the store or the rendezvous."""

    CONNECT_REFUSED = "connect-refused"
    """One failed attempt: normal while rank 0 starts."""
    CONNECT_TIMED_OUT = "connect-timed-out"
    RESOLVE_FAILED = "resolve-failed"
    CLIENTS_MISSING = "clients-missing"
    KEY_TIMED_OUT = "key-timed-out"
    UNIQUE_ID_TIMED_OUT = "unique-id-timed-out"
    """`n` waited for the ncclUniqueId of `owner`: `owner` is late or gone."""
    BARRIER_WAITING = "barrier-waiting"
    BARRIER_TIMED_OUT = "barrier-timed-out"
    PEER_CLOSED = "peer-closed"
    """The host of the store went away first: second-hand."""
    VALIDATION_FAILED = "validation-failed"
    PORT_IN_USE = "port-in-use"
    RENDEZVOUS_TIMED_OUT = "rendezvous-timed-out"
    RENDEZVOUS_UNREACHABLE = "rendezvous-unreachable"
    RENDEZVOUS_CLOSED = "rendezvous-closed"
    NODE_LOST = "node-lost"
    BAD_CONFIGURATION = "bad-configuration"
    """Wrong or missing RANK, WORLD_SIZE, MASTER_ADDR or MASTER_PORT."""


_STORE_GAVE_UP = frozenset(
    {
        StoreProblem.UNIQUE_ID_TIMED_OUT,
        StoreProblem.KEY_TIMED_OUT,
        StoreProblem.BARRIER_TIMED_OUT,
        StoreProblem.CLIENTS_MISSING,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFault(Seen, fact=Fact.STORE, witness=Witness.PROCESS, role=Role.FAULT):
    """Trouble at the TCPStore, in the store-based barrier or in the elastic rendezvous.

    Attributes:
        waiter: rank that waited (may be a group rank), `owner` the one it waited for.
        host, port: of the store.
        key: store key waited for.
        joined, expected: how many ranks arrived, of how many.
        timeout_ms: the configured limit.
    """

    problem: StoreProblem
    waiter: Rank | None = None
    owner: Rank | None = None
    host: str | None = None
    port: int | None = None
    key: str | None = None
    joined: int | None = None
    expected: int | None = None
    timeout_ms: int | None = None

    @property
    def gave_up(self) -> bool:
        """Whether a rank gave up waiting for another one at the store."""
        return self.problem in _STORE_GAVE_UP

    @property
    def waits(self) -> bool:
        """Whether a rank waits at the store, or gave up."""
        return self.gave_up or self.problem is StoreProblem.BARRIER_WAITING


class GlooProblem(enum.Enum):
    """What a Gloo error says."""

    RECV_TIMED_OUT = "recv-timed-out"
    SEND_TIMED_OUT = "send-timed-out"
    PEER_CLOSED = "peer-closed"
    """Second-hand: somebody else exited or timed out earlier."""
    SIZE_MISMATCH = "size-mismatch"
    """Two ranks are in different collectives."""
    CONNECT_FAILED = "connect-failed"
    LOOPBACK = "loopback"
    """Ranks of different hosts meet at 127.0.0.1."""
    RESOLVE_FAILED = "resolve-failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlooFault(Seen, fact=Fact.GLOO, witness=Witness.PROCESS, role=Role.FAULT):
    """A Gloo error. Sizes in bytes, addresses as printed."""

    problem: GlooProblem
    local: str | None = None
    remote: str | None = None
    timeout_ms: int | None = None
    rank: Rank | None = None
    size: int | None = None
    detail: str = ""

    @property
    def gave_up(self) -> bool:
        """Whether a rank gave up waiting for what another one sends or takes."""
        return self.problem in (GlooProblem.RECV_TIMED_OUT, GlooProblem.SEND_TIMED_OUT)
