"""NCCL's warnings, by release, plugin and form."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import Event, NcclClass, NcclFailure, NcclReason
from unhang.parsers.nccl_warn import NcclWarnParser

HEAD = "node1:4711:4790 [2] "


def warned(text: str) -> NcclFailure:
    return only(NcclFailure, feed(NcclWarnParser, text))


def reasons(events: list[Event]) -> list[NcclReason]:
    return [e.reason for e in events if isinstance(e, NcclFailure)]


@pytest.mark.parametrize(
    "text",
    [
        HEAD
        + "misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n2<51>",
        "[2026-11-21 01:31:45] "
        + HEAD
        + "misc/socket.cc:71 (socketProgress) NCCL WARN socketProgress: Connection closed by "
        "remote peer n2<51>",
        "100%|####| 9/9 [00:01]" + HEAD + "misc/socket.cc:49 NCCL WARN Net : Connection closed by "
        "remote peer n2<51>",
    ],
)
def test_forms_of_the_header(text: str) -> None:
    event = warned(text)
    assert event.reason is NcclReason.PEER_CLOSED
    assert (event.device, event.origin.pid, event.peer) == (2, 4711, "n2")
    assert event.warning


def test_the_host_is_read_unless_it_is_glued_to_other_text() -> None:
    text = "misc/socket.cc:49 NCCL WARN Call to recv failed : Broken pipe"
    assert warned(HEAD + text).origin.host == "node1"
    assert warned("sum  -" + HEAD + text).origin.host is None


def test_a_prefix_outranks_the_header() -> None:
    (event,) = feed(NcclWarnParser, line(HEAD + "a.cc:1 NCCL WARN Accept failed", rank=5))
    assert event.origin.rank == 5
    assert event.origin.host == "node1"


def test_a_device_of_a_thread_without_one_is_unknown() -> None:
    text = "n:1:2 [959657526] include/alloc.h:1 NCCL WARN Failed to CUDA calloc 64 bytes"
    assert warned(text).device is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "NET/IB : Got completion from peer 10.0.0.7<4> with error 12, opcode 1, len 0, "
            "vendor err "
            "129 (Send)",
            NcclReason.IB_COMPLETION,
        ),
        (
            "NET/IB: Got completion from peer 10.0.0.7<4> with status=12 opcode=1 len=0 "
            "vendor err 129"
            " (Send) localGid fe80::1 remoteGidsfe80::2 hca mlx5_3",
            NcclReason.IB_COMPLETION,
        ),
        (
            "NET/IB : Got completion from peer 10.0.0.7<4> with status=5 opcode=1 len=0 "
            "vendor err 249"
            " (Recv)",
            NcclReason.IB_FLUSHED,
        ),
        ("NET/IB : mlx5_3:1 Got non-fatal async event: port error(10)", NcclReason.IB_PORT_EVENT),
        ("NET/IB : Got async event : port error", NcclReason.IB_PORT_EVENT),
        (
            "NET/IB : mlx5_3:1 Got non-fatal async event: GID table changed(18)",
            NcclReason.PLUGIN_NOISE,
        ),
        (
            "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
            NcclReason.IB_MEMORY_LOCK,
        ),
        (
            "Call to ibv_create_qp failed with error Cannot allocate memory errno 12",
            NcclReason.IB_MEMORY_LOCK,
        ),
        (
            "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, "
            "curr state "
            "INIT, next state RTR, local GID index 3",
            NcclReason.IB_QP_CONNECT,
        ),
        (
            "Call to ibv_reg_dmabuf_mr failed with error Operation not supported",
            NcclReason.IB_DEVICE,
        ),
        ("Call to ibv_open_device failed", NcclReason.PLUGIN_NOISE),
        ("NET/IB : Unable to open device mlx5_4", NcclReason.PLUGIN_NOISE),
        ("Failed to open libibverbs.so[.1]", NcclReason.PLUGIN_NOISE),
        ("NET/IB :SHARP coll init error: Cannot create SHArP job(-11)", NcclReason.PLUGIN_NOISE),
        (
            "socketStartConnect: Connect to 10.0.0.7<43211> failed : Connection refused",
            NcclReason.CONNECT_REFUSED,
        ),
        (
            "socketStartConnect: Connect to 10.0.0.7<43211> failed : No route to host",
            NcclReason.NO_ROUTE,
        ),
        ("socketStartConnect: exceeded retries (20000)", NcclReason.CONNECT_TIMED_OUT),
        (
            "socketPollConnect: connect to 10.0.0.7<43211> returned Connection timed out, exceeded "
            "error retry count after 35 attempts",
            NcclReason.CONNECT_TIMED_OUT,
        ),
        (
            "socketStartConnect: Connect to fe80::9%ib1<17943> failed : Software caused connection "
            "abort",
            NcclReason.CONNECT_ABORTED,
        ),
        (
            "socketProgressOpt: Call to recv from 10.0.0.7<34367> failed : Connection reset "
            "by peer",
            NcclReason.PEER_CLOSED,
        ),
        ("Bootstrap : no socket interface found", NcclReason.NO_INTERFACE),
        ("NET/Socket : no interface found", NcclReason.NO_INTERFACE),
        (
            "Net : No interface found in the same subnet as remote address 10.0.0.7<1>",
            NcclReason.NO_SHARED_SUBNET,
        ),
        ("socketFinalizeAccept: wrong magic 1 != 2", NcclReason.WRONG_MAGIC),
        ("Message truncated : received 1024 bytes instead of 256", NcclReason.MESSAGE_TRUNCATED),
        (
            "NET/Socket : peer 10.0.0.7<1> message truncated : receiving 8 bytes instead of 4",
            NcclReason.SIZE_MISMATCH,
        ),
        (
            "NET/IB : req 0/1 tag 7 peer 10.0.0.7<1> collective mismatch error, local size 8192 "
            "remote size 4096",
            NcclReason.SIZE_MISMATCH,
        ),
        (
            "Bootstrap Root : rank 3 of 8 ranks has already checked in",
            NcclReason.BOOTSTRAP_DUPLICATE,
        ),
        ("Bootstrap Root : mismatch in rank count from procs 16 : 8", NcclReason.BOOTSTRAP_COUNT),
        (
            "[Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 3",
            NcclReason.PROXY_FOLLOW_UP,
        ),
        (
            "[Service thread] Could not receive type from localRank 2, res=3, closed=0",
            NcclReason.PROXY_FOLLOW_UP,
        ),
        (
            "Error: failed to extend /dev/shm/nccl-Ab to 33030532 bytes, error: No space left on "
            "device (28)",
            NcclReason.SHM_SPACE,
        ),
        (
            "Error while creating shared memory segment /dev/shm/nccl-Ab (size 33030528)",
            NcclReason.SHM_OPEN,
        ),
        ("Call to posix_fallocate failed: No space left on device", NcclReason.SHM_SPACE),
        ("Cuda failure 'out of memory'", NcclReason.CUDA_OOM),
        ("Cuda failure 2 'out of memory'", NcclReason.CUDA_OOM),
        ("Cuda failure 700 'an illegal memory access was encountered'", NcclReason.CUDA_KERNEL),
        ("Cuda failure 802 'system not yet initialized'", NcclReason.FABRIC),
        ("Cuda failure 101 'invalid device ordinal'", NcclReason.CUDA_ORDINAL),
        (
            "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'",
            NcclReason.CUDA_DRIVER,
        ),
        ("Cuda failure 'driver shutting down'", NcclReason.PLUGIN_NOISE),
        ("HIP failure: 'out of memory'", NcclReason.CUDA_OOM),
        (
            "failed to peer with device 3(=4f000): 217 peer access is not supported between these "
            "two devices",
            NcclReason.PEER_ACCESS,
        ),
        (
            "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 "
            "'the operation cannot be performed in the present state'",
            NcclReason.NVLS,
        ),
        (
            "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 17000",
            NcclReason.DUPLICATE_GPU,
        ),
        (
            "Mismatched NCCL version detected : rank 3 version 22705 rank 0 version 22105",
            NcclReason.NCCL_VERSIONS,
        ),
        (
            "Detected mixed local Net device counts across ranks (min 1, max 2). Set "
            "NCCL_IGNORE_NET_MISMATCH=1 to",
            NcclReason.NET_MISMATCH,
        ),
        (
            "NET/OFI Request completed with error. RC: 21. Error: unknown error",
            NcclReason.OFI_ERROR,
        ),
        ("nvmlInit() failed: Driver/library version mismatch", NcclReason.CUDA_DRIVER),
        ("Call to bind failed : Cannot assign requested address", NcclReason.NO_INTERFACE),
        ("NCCL_NVLS_ENABLE is set but NVLS is not supported here", NcclReason.UNSPECIFIED),
        ("something that nobody has seen before", NcclReason.UNSPECIFIED),
    ],
)
def test_texts(text: str, reason: NcclReason) -> None:
    assert warned(HEAD + "some/file.cc:12 NCCL WARN " + text).reason is reason


def test_a_text_that_a_terminal_wrapped_is_the_same() -> None:
    text = "Got completion frompeer 10.0.0.7<4> withstatus=12 opcode=1 len=0 vendorerr 129"
    event = warned(HEAD + "net_ib.cc:1 NCCL WARN NET/IB: " + text)
    assert (event.reason, event.status, event.vendor_error) == (NcclReason.IB_COMPLETION, 12, 129)


def test_what_a_completion_names() -> None:
    event = warned(
        HEAD + "transport/net_ib.cc:2360 NCCL WARN NET/IB: Got completion from peer "
        "172.16.0.4<53393> with status=12 opcode=1 len=5222 vendor err 129 (Send) localGid ::1 "
        "remoteGids::2 hca mlx5_26"
    )
    assert (event.peer, event.hca, event.status) == ("172.16.0.4", "mlx5_26", 12)


def test_an_unspecific_cuda_failure_is_told_by_its_file() -> None:
    text = "NCCL WARN Cuda failure 1 'invalid argument'"
    assert warned(HEAD + "transport/nvls.cc:598 " + text).reason is NcclReason.NVLS
    assert warned(HEAD + "misc/shmutils.cc:103 " + text).reason is NcclReason.SHM_OPEN
    assert warned(HEAD + "enqueue.cc:9 " + text).reason is NcclReason.CUDA_OTHER


def test_plugins_put_a_function_in_place_of_a_file() -> None:
    event = warned(
        HEAD + "create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22"
    )
    assert event.reason is NcclReason.OFI_ERROR
    assert event.origin.pid == 4711


def test_an_old_warning_without_the_word_nccl() -> None:
    event = warned(
        "include/socket.h:344 WARN Socket creation failed : Address family not "
        "supported by protocol"
    )
    assert event.reason is NcclReason.NO_INTERFACE


def test_several_messages_on_one_line() -> None:
    text = (
        "n1:1:1 [0] a.cc:1 NCCL WARN Cuda failure 'out of memory'"
        "n2:2:2 [1] b.cc:2 NCCL WARN Bootstrap : no socket interface found"
    )
    events = feed(NcclWarnParser, text)
    assert reasons(events) == [NcclReason.CUDA_OOM, NcclReason.NO_INTERFACE]


def test_an_unwinding_line_counts_only_without_a_warning_of_its_thread() -> None:
    unwound = HEAD + "NCCL INFO misc/socket.cc:505 -> 2 (Operation now in progress)"
    event = warned(unwound)
    assert event.error_class is NcclClass.SYSTEM
    assert event.reason is NcclReason.CONNECT_TIMED_OUT
    told = feed(NcclWarnParser, HEAD + "a.cc:1 NCCL WARN Cuda failure 'out of memory'", unwound)
    assert reasons(told) == [NcclReason.CUDA_OOM]


def test_a_flood_of_one_text_is_cut() -> None:
    lines = [
        HEAD + f"net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.7<{port}> with "
        "status=5 opcode=0 len=0 vendor err 249"
        for port in range(1000, 1100)
    ]
    assert len(feed(NcclWarnParser, *lines)) == 4


def test_ucx_errors() -> None:
    event = warned(
        "[node1:4711:0:4790]  ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE "
        "(synd 0x15 vend 0x81 hw_synd 0/0)"
    )
    assert (event.reason, event.hca) == (NcclReason.IB_COMPLETION, "mlx5_0")
    event = warned(
        "[1732.1] [node1:4711:0]  mm_posix.c:233  UCX  ERROR Not enough memory to write total of "
        "4292720 bytes. Please check that /dev/shm or the directory you specified has more "
        "available memory."
    )
    assert event.reason is NcclReason.SHM_SPACE
    event = warned(
        "[1732.1] [node1:4711:0]     ib_device.c:488  UCX  ERROR ibv_create_srq(wr=511) failed: "
        "Cannot allocate memory"
    )
    assert event.reason is NcclReason.IB_MEMORY_LOCK
    event = warned("[node2:9:0]  ib_md.c:1101 UCX  ERROR mlx5dv_open_device(mlx5_3) failed: EIO")
    assert event.reason is NcclReason.IB_DEVICE


def test_a_gpu_that_is_not_there_is_no_refused_peer() -> None:
    text = HEAD + "transport/p2p.cc:275 NCCL WARN Cuda failure 101 'invalid device ordinal'"
    assert warned(text).reason is NcclReason.CUDA_ORDINAL
    text = HEAD + "transport/p2p.cc:275 NCCL WARN Cuda failure 'invalid argument'"
    assert warned(text).reason is NcclReason.PEER_ACCESS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "NCCL INFO socketPollConnect: connect to 10.0.0.7<43211> returned No route to host, "
            "retrying (34/34) after sleep for 3400 msec",
            NcclReason.NO_ROUTE,
        ),
        (
            "socketPollConnect: connect returned Connection timed out, exceeded error retry count",
            NcclReason.CONNECT_TIMED_OUT,
        ),
        (
            "Error while creating shared memory segment /dev/shm/nccl-aXb (size 9637888)",
            NcclReason.SHM_OPEN,
        ),
        (
            "libfabric:177:1732779731::efa:cq:efa_rdm_cq_poll():92<warn> prov_errno 12 "
            "Unresponsive remote",
            NcclReason.OFI_ERROR,
        ),
    ],
)
def test_texts_without_the_header_of_a_warning(text: str, reason: NcclReason) -> None:
    (found,) = feed(NcclWarnParser, text)
    assert isinstance(found, NcclFailure)
    assert found.reason is reason


@pytest.mark.parametrize(
    "text",
    [
        "NCCL INFO socketPollConnect: connect to 10.0.0.7<4321> returned Connection refused, "
        "retrying (1/34) after sleep for 100 msec",
        "libfabric:462:1673041636:efa:core:rxr_info_to_rxr():506<warn> FI_HMEM capability requires "
        "RDMA, which this device does not support.",
        "libfabric:177:1732779731::efa:cq:open():92<warn> Unable to create extended CQ: Cannot "
        "allocate memory",
    ],
)
def test_an_attempt_that_may_still_succeed_is_no_failure(text: str) -> None:
    assert feed(NcclWarnParser, text) == []


def test_a_warning_that_somebody_quotes_is_none() -> None:
    quoted = "misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n2<51>"
    assert feed(NcclWarnParser, f"if you see '{HEAD}{quoted}', look at n2") == []
