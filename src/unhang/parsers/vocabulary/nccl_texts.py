"""The texts of NCCL 2.4 to 2.30, of its plugins and of UCX, each with what it says.

They are written as they were printed; a blank matches any or no white space, because texts arrive
wrapped by terminals.
"""

from __future__ import annotations

import re

from unhang.model.events import NcclReason

_R = NcclReason


def pattern(*texts: str) -> re.Pattern[str]:
    """One pattern for several texts in which a blank stands for any or no white space."""
    return re.compile("|".join(text.replace(" ", r"\s*") for text in texts), re.IGNORECASE)


NOISE = pattern(
    r"Failed to open libibverbs",
    r"Failed to open libnvidia-ml",
    r"Could not find: ",
    r"No plugin found",
    r"Failed to find ncclNetPlugin",
    r"Failed to find ncclCollNetPlugin",
    r"Plugin load .{0,80}returned",
    r"SHARP coll init error",
    r"Cannot initialize CollNet",
    r"Call to ibv_open_device failed",
    r"Unable to open device",
    r"Call to ibv_get_async_event",
    r"async event ?: ?(?:GID table changed|client reregistration|port active|LM event|SM )",
    r"aws-ofi-nccl initialization failed",
    r"No eligible providers were found",
    r"Linux kernel auto NUMA balancing",
    r"Missing .{0,4}iommu=pt",
    r"HSA_FORCE_FINE_GRAIN_PCIE",
    r"kernel\.numa_balancing",
    r"Invalid NCCL_DEBUG",
    r"MSCCL",
    r"driver shutting down",
    r"Failed to find CUDA library",
    r"Only EFA provider is supported",
    r"Couldn't find any optimal provider",
    r"is deprecated",
)
"""Printed in healthy jobs, or left behind by a fall-back that worked."""

FOLLOW_UP = pattern(
    r"\[Proxy Service(?: UDS)?",
    r"\[Service thread\]",
    r"Proxy Call to rank",
    r"Socket recv failed while polling",
    r"Socket (?:recv|send) failed",
    r"Socket poll failed",
    r"Could not receive (?:type|resp|opId)",
    r"Failed to execute operation",
    r"Error encountered progressing operation",
    r"Proxy (?:message|response|connect)",
    r"proxyProgressAsync",
    r"Communicator has been aborted",
)
"""Somebody else's failure as the proxy of this process saw it."""

TEXTS: tuple[tuple[NcclReason, re.Pattern[str]], ...] = (
    (_R.IB_FLUSHED, pattern(r"Got completion .{0,160}(?:error|status=?) 5\b")),
    (
        _R.IB_COMPLETION,
        pattern(
            r"Got completion ",
            r"Transport retry count exceeded",
            r"Remote (?:operation|access|invalid request) error on mlx",
            r"RNR retry count exceeded",
            r"Local (?:protection|length|QP operation|access) error on mlx",
            r"Completion with error .{0,80}(?:mlx|IB_WC)",
            r"async fatal event on QP",
        ),
    ),
    (
        _R.IB_PORT_EVENT,
        pattern(
            r"async event ?:? ?\(? ?port error",
            r"async event ?: ?(?:local catastrophic|device fatal)",
            r"async fatal event: (?:device|port)",
            r"fatal async event ?:? ?port error",
        ),
    ),
    (
        _R.IB_MEMORY_LOCK,
        pattern(
            r"ibv_(?:reg|create|alloc|exp|open|resize)\w{0,24}.{0,60}Cannot allocate memory",
            r"ibv_reg_mr\w{0,16} failed .{0,24}errno 12",
            r"RLIMIT_MEMLOCK",
            r"max locked memory",
            r"ulimit -l",
        ),
    ),
    (
        _R.IB_QP_CONNECT,
        pattern(
            r"ibv_modify_qp",
            r"ibv_create_qp",
            r"mlx5dv_create_qp",
            r"Could not find .{0,24}GID",
            r"GID index",
            r"link layer mismatch",
            r"QP to (?:RTR|RTS|INIT)",
        ),
    ),
    (
        _R.IB_DEVICE,
        pattern(
            r"Call to ibv_\w{1,40}",
            r"ibv_reg_dmabuf_mr",
            r"mlx5dv_\w{1,40} failed",
            r"merge incompatible devices",
            r"No active port",
            r"wrong number of .{0,16}devices",
            r"NET/IB ?:? ?(?:Failed|Unable|Error|Could not)",
            r"UCX ?ERROR ?.{0,80}(?:ibv_|mlx5)",
        ),
    ),
    (
        _R.SIZE_MISMATCH,
        pattern(
            r"collective mismatch error",
            r"Mismatched collective detected",
            r"receiving \d+ bytes instead of",
            r"NET/(?:Socket|IB) ?:.{0,80}message truncated",
            r"posted incorrect receive info",
            r"incorrect receive size",
        ),
    ),
    (_R.MESSAGE_TRUNCATED, pattern(r"Message truncated", r"Bootstrap.{0,40}truncated")),
    (
        _R.OFI_ERROR,
        pattern(
            r"NET/OFI",
            r"fi_\w{2,32} (?:call )?failed",
            r"libfabric",
            r"EFA .{0,40}(?:error|fail|unreach|unrespons)",
        ),
    ),
    (
        _R.NO_SHARED_SUBNET,
        pattern(r"No interface found in the same subnet", r"not in the same subnet"),
    ),
    (
        _R.NO_INTERFACE,
        pattern(
            r"no (?:socket )?interface found",
            r"No network interface",
            r"could not find (?:any )?(?:network )?interface",
            r"Address family not supported by protocol",
            r"Cannot assign requested address",
            r"error encountered when getting address info",
            r"No usable (?:listening )?interface",
            r"Bootstrap ?: ?(?:no|invalid) .{0,24}(?:interface|address)",
            r"no IPv[46] .{0,24}(?:address|interface)",
        ),
    ),
    (_R.WRONG_MAGIC, pattern(r"wrong (?:socket )?magic", r"wrong (?:socket )?type \d")),
    (_R.FILE_LIMIT, pattern(r"Too many open files", r"pthread_create failed")),
    (
        _R.ADDRESS_IN_USE,
        pattern(r"Address already in use"),
    ),
    (
        _R.NO_ROUTE,
        pattern(r"No route to host", r"Network is unreachable", r"Host is (?:down|unreachable)"),
    ),
    (
        _R.CONNECT_TIMED_OUT,
        pattern(
            r"Connect(?:ion)? .{0,120}(?:timed out|timeout|in progress)",
            r"PollConnect.{0,140}(?:exceeded|timed out)",
            r"StartConnect.{0,140}exceeded",
            r"exceeded (?:error )?(?:retr|timeout)",
            r"Timeout waiting for connection",
            r"socket.{0,60}Connection timed out",
            r"Call to (?:recv|send|connect|poll) .{0,60}timed out",
            r"Resource temporarily unavailable.{0,60}connect",
        ),
    ),
    (
        _R.CONNECT_ABORTED,
        pattern(r"Software caused connection abort", r"connect.{0,120}(?:Invalid argument)"),
    ),
    (
        _R.CONNECT_REFUSED,
        pattern(r"Connection refused", r"connect.{0,120}(?:Operation not permitted)"),
    ),
    (_R.LOCAL_PEER_CLOSED, pattern(r"Connection closed by local ?Rank")),
    (
        _R.PEER_CLOSED,
        pattern(
            r"Connection closed by (?:remote )?peer",
            r"Connection closed by remote",
            r"Connection reset by peer",
            r"Broken pipe",
            r"remote end .{0,24}closed",
            r"peer (?:has )?(?:disconnected|exited)",
        ),
    ),
    (
        _R.BOOTSTRAP_DUPLICATE,
        pattern(r"has already checked in", r"already (?:registered|connected) .{0,24}rank"),
    ),
    (_R.BOOTSTRAP_COUNT, pattern(r"mismatch in rank count", r"mismatch .{0,24}number of ranks")),
    (
        _R.DUPLICATE_GPU,
        pattern(r"Duplicate GPU detected", r"Multiple Ranks are using the same GPU"),
    ),
    (
        _R.NCCL_VERSIONS,
        pattern(
            r"Mismatched NCCL version",
            r"NCCL version mismatch",
            r"NCCL versions? .{0,24}(?:differ|mismatch|incompatible)",
        ),
    ),
    (_R.NET_MISMATCH, pattern(r"mixed local Net device counts", r"NCCL_IGNORE_NET_MISMATCH")),
    (
        _R.SHM_SPACE,
        pattern(
            r"(?:extend|fallocate|ftruncate|shared memory segment|/dev/shm).{0,160}"
            r"No space left on device",
            r"failed to extend /dev/shm",
            r"posix_fallocate failed",
            r"Please check that /dev/shm",
            r"Not enough memory to write total of",
        ),
    ),
    (
        _R.SHM_OPEN,
        pattern(
            r"(?:Error while |failed to )?(?:creating|attaching to) shared memory segment",
            r"shm_open failed",
            r"Call to (?:open|mmap|ftruncate).{0,60}shm",
            r"shm/nccl-\w{1,40}.{0,60}(?:Permission denied|No such file)",
        ),
    ),
    (
        _R.NVLS,
        pattern(
            r"(?:fail|error).{0,80}(?:NVLS|Multicast)",
            r"(?:NVLS|Multicast).{0,120}(?:fail|error)",
            r"(?:CUDA error|failure) 401\b",
        ),
    ),
    (
        _R.FABRIC,
        pattern(
            r"system not yet initialized",
            r"fabric (?:manager|state|is not|not)",
            r"IMEX",
            r"(?:failure|error) 802\b",
        ),
    ),
    (
        _R.PEER_ACCESS,
        pattern(
            r"failed to peer with device",
            r"cudaIpc\w{1,32} .{0,40}failed",
            r"failed to open CUDA IPC handle",
            r"peer access is not supported",
            r"P2P is disabled between NVLINK",
            r"Could not enable P2P",
            r"mapping of buffer object failed",
            r"peer mapping resources exhausted",
            r"P2P .{0,40}(?:IOMMU|ACS)\b",
        ),
    ),
    (
        _R.CUDA_DRIVER,
        pattern(r"Driver/library version mismatch", r"nvmlInit\w{0,6}(?:\(\))? failed"),
    ),
    (
        _R.CUDA_HARDWARE,
        pattern(
            r"GPU is lost",
            r"fallen off the bus",
            r"GPU requires reset",
            r"nvml\w{1,60}(?:\([^)]{0,40}\))? ?failed ?:? ?(?:Unknown Error|GPU)",
        ),
    ),
    (
        _R.SYMBOL,
        pattern(r"undefined symbol", r"(?:dlsym|dlvsym|dlopen) failed", r"Failed to load symbol"),
    ),
    (
        _R.TOPOLOGY,
        pattern(
            r"Could not find a path for pattern",
            r"XML (?:parse|Parsing|import)? ?error",
            r"Could not (?:parse|open) XML",
            r"Topology .{0,40}(?:not|invalid|error)",
            r"Could not find real path of",
            r"Error : (?:one node has|two nodes)",
        ),
    ),
    (
        _R.RANK_RANGE,
        pattern(r"Invalid rank requested", r"Invalid (?:root|rank) ", r"invalid root"),
    ),
    (
        _R.HOST_MEMORY,
        pattern(
            r"Failed to (?:m|c|re)alloc",
            r"Failed to CUDA host alloc",
            r"mmap failed.{0,60}Cannot allocate memory",
            r"Cannot allocate memory",
        ),
    ),
    (_R.CUDA_OOM, pattern(r"Failed to CUDA (?:c|m)?alloc")),
    (
        _R.SOCKET_BROKEN,
        pattern(
            r"(?:Call to )?(?:recv|send|accept|bind|listen|poll|getsockopt)\b.{0,80}failed",
            r"socket\w{0,24}.{0,60}(?:failed|error)",
            r"Accept failed",
        ),
    ),
)
"""By text, first hit wins: more special texts stand before more general ones."""
