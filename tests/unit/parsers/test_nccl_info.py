"""NCCL's INFO lines."""

import pytest

from support.feeding import feed, only
from unhang.model.events import (
    CommunicatorStage,
    InitStage,
    InterfaceUsed,
    NcclFailure,
    NcclReason,
    SettingSeen,
    TransportUsed,
    VersionSeen,
)
from unhang.parsers.nccl_info import NcclInfoParser

HEAD = "node1:4711:4790 [3] NCCL INFO "


@pytest.mark.parametrize(
    ("text", "interface", "address"),
    [
        ("Bootstrap : Using eth0:10.0.0.5<0>", "eth0", "10.0.0.5"),
        ("Bootstrap: Using ib0:10.0.0.5<0>", "ib0", "10.0.0.5"),
        (
            "Bootstrap : Using [0]ip6tnl0:fe80::9%ip6tnl0<0> [1]veth0:2001:db8::a<0>",
            "ip6tnl0",
            "fe80::9%ip6tnl0",
        ),
        ("NET : Using interface ib0:10.0.0.5<0>", "ib0", "10.0.0.5"),
    ],
)
def test_the_interface(text: str, interface: str, address: str) -> None:
    event = only(InterfaceUsed, feed(NcclInfoParser, HEAD + text))
    assert (event.interface, event.address, event.origin.host) == (interface, address, "node1")


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        (
            "comm 0x55 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 9b000 commId 0x5ae - Init START",
            InitStage.START,
        ),
        (
            "ncclCommInitRankConfig comm 0x55 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId "
            "9b000 commId "
            "0x5ae - Init COMPLETE",
            InitStage.COMPLETE,
        ),
        (
            "[Rank 3] ncclCommInitRank comm 0x55 rank 3 nranks 8 cudaDev 3 busId 9b000 "
            "commId 0x5ae - "
            "Init START",
            InitStage.START,
        ),
    ],
)
def test_stages(text: str, stage: InitStage) -> None:
    event = only(CommunicatorStage, feed(NcclInfoParser, HEAD + text))
    assert (event.stage, event.comm_id, event.comm_rank, event.size) == (stage, "0x5ae", 3, 8)
    assert (event.device, event.bus_id, event.origin.pid) == (3, "9b000", 4711)


def test_old_stages_have_no_common_name() -> None:
    text = "comm 0x9 rank 11 nranks 16 cudaDev 3 busId 61000 - Abort COMPLETE"
    event = only(CommunicatorStage, feed(NcclInfoParser, HEAD + text))
    assert (event.stage, event.comm_id, event.comm_rank) == (InitStage.ABORT, None, 11)


def test_sockets_after_a_search_for_adapters_are_a_fallback() -> None:
    lines = [HEAD + "NET/IB : No device found.", HEAD + "Using network Socket"]
    assert only(TransportUsed, feed(NcclInfoParser, *lines)).fallback
    assert not only(TransportUsed, feed(NcclInfoParser, lines[1])).fallback


def test_only_the_first_channel_of_a_kind_is_said_for_each_process() -> None:
    lines = [
        *(HEAD + f"Channel {n:02d}/0 : 0[0] -> 1[1] via P2P/IPC" for n in range(9)),
        *(HEAD + f"Channel {n:02d}/0 : 7[7] -> 8[0] [send] via NET/Socket/1" for n in range(9)),
        "node2:1:1 [0] NCCL INFO Channel 00 : 1[b000] -> 0[a000] via direct shared memory",
    ]
    events = feed(NcclInfoParser, *lines)
    found = [e.transport for e in events if isinstance(e, TransportUsed)]
    assert found == ["P2P", "NET/Socket", "SHM"]


def test_channels_and_the_best_link() -> None:
    events = feed(
        NcclInfoParser,
        HEAD + "=== System : maxBw 240.0 totalBw 480.0 ===",
        HEAD + "2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels",
    )
    link, channels = (e for e in events if isinstance(e, TransportUsed))
    assert link.link_gbps == 240.0
    assert channels.channels == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NCCL_SOCKET_IFNAME set by environment to eth1", "eth1"),
        ("NCCL_SOCKET_IFNAME set by environment to eth1.", "eth1"),
        ("NCCL_SOCKET_IFNAME set to eth1", "eth1"),
    ],
)
def test_settings(text: str, value: str) -> None:
    event = only(SettingSeen, feed(NcclInfoParser, HEAD + text))
    assert (event.name, event.value) == ("NCCL_SOCKET_IFNAME", value)


def test_versions() -> None:
    events = feed(NcclInfoParser, "NCCL version 2.27.7+cuda12.9", HEAD + "cudaDriverVersion 12080")
    assert [(e.component, e.version) for e in events if isinstance(e, VersionSeen)] == [
        ("nccl", "2.27.7"),
        ("cuda-driver", "12.8"),
    ]


def test_an_error_is_no_banner() -> None:
    text = "DistBackendError: NCCL error in: x.cpp:1, internal error, NCCL version 2.21.5"
    assert feed(NcclInfoParser, text) == []


def test_a_local_peer_that_closed() -> None:
    event = only(
        NcclFailure,
        feed(NcclInfoParser, HEAD + "[Service thread] Connection closed by localRank 2"),
    )
    assert (event.reason, event.peer) == (NcclReason.LOCAL_PEER_CLOSED, "localRank 2")


def test_a_line_of_two_processes() -> None:
    events = feed(
        NcclInfoParser,
        "n1:1:1 [1] NCCL INFO Bootstrap : Using eth0:10.0.0.5<0>n1:2:2 [0] NCCL INFO comm 0x8 rank "
        "0 nranks 2 cudaDev 0 busId 2000 commId 0x24 - Init COMPLETE",
    )
    assert only(InterfaceUsed, events).origin.pid == 1
    # The host of a glued header cannot be told from the text before it.
    assert only(CommunicatorStage, events).origin.pid == 2


def test_how_ranks_lie_on_nodes() -> None:
    text = (
        "node1:4711:4790 [3] NCCL INFO comm 0x55d1 rank 11 nRanks 16 nNodes 2 localRanks 8"
        " localRank 3 MNNVL 0"
    )
    stages = [e for e in feed(NcclInfoParser, text) if isinstance(e, CommunicatorStage)]
    assert [(e.stage, e.comm_rank, e.size, e.device) for e in stages] == [
        (InitStage.LAID_OUT, 11, 16, 3)
    ]
