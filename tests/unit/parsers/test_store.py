"""Store, socket, barrier and rendezvous messages of torch 1.8 to 2.13."""

from typing import Any

import pytest

from support.feeding import feed, line, only
from unhang.model.events import StoreFault, StoreProblem
from unhang.parsers.store import StoreParser

P = StoreProblem
BARRIER = "in store based barrier on rank"


@pytest.mark.parametrize(
    ("text", "problem", "told"),
    [
        (
            "[c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - "
            "Connection refused).",
            P.CONNECT_REFUSED,
            {"host": "node1", "port": 29500},
        ),
        (
            "[c10d] The client socket has failed to connect to any network address of "
            "(node1, 29500).",
            P.CONNECT_TIMED_OUT,
            {"host": "node1", "port": 29500},
        ),
        (
            "[c10d] The client socket has timed out after 300s while trying to connect to "
            "(node1, 29500).",
            P.CONNECT_TIMED_OUT,
            {"host": "node1", "port": 29500, "timeout_ms": 300_000},
        ),
        (
            "torch.distributed.DistNetworkError: The client socket has timed out after 4000ms "
            "while trying to connect to (127.0.0.1, 32102).",
            P.CONNECT_TIMED_OUT,
            {"host": "127.0.0.1", "port": 32102, "timeout_ms": 4000},
        ),
        (
            "RuntimeError: connect() timed out. Original timeout was 1800000 ms.",
            P.CONNECT_TIMED_OUT,
            {"timeout_ms": 1_800_000},
        ),
        (
            "TCP client failed to connect/validate to host node1:29500 - retrying (try=0, "
            "timeout=300000ms, delay=5519ms): failed to recv, got 0 bytes",
            P.VALIDATION_FAILED,
            {"host": "node1", "port": 29500},
        ),
        (
            "TCP client failed to connect/validate to host node1:29500 - timed out (try=1, "
            "timeout=300000ms): The client socket has",
            P.CONNECT_TIMED_OUT,
            {"timeout_ms": 300_000},
        ),
        (
            "[c10d] The IPv6 network addresses of (node1, 29500) cannot be retrieved (gai error: "
            "-2 - Name or service not known).",
            P.RESOLVE_FAILED,
            {"host": "node1"},
        ),
        (
            "ssh: Could not resolve hostname n1-0: Name or service not known",
            P.RESOLVE_FAILED,
            {"host": "n1-0"},
        ),
        (
            "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. "
            "1/2 clients joined.",
            P.CLIENTS_MISSING,
            {"joined": 1, "expected": 2, "timeout_ms": 600_000},
        ),
        (
            "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id:"
            " PjRT_Client_Connect. Timed out task names:",
            P.CLIENTS_MISSING,
            {"joined": None},
        ),
        (
            "DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cuda//2",
            P.KEY_TIMED_OUT,
            {"owner": 2, "key": "/default_pg/0//cuda//2", "timeout_ms": 300_000},
        ),
        (
            "torch.distributed.DistStoreError: wait timeout after 8000ms, keys: "
            "/default_pg/0//cpu//0/3",
            P.KEY_TIMED_OUT,
            {"owner": 3, "timeout_ms": 8000},
        ),
        ("RuntimeError: Socket Timeout", P.KEY_TIMED_OUT, {"key": None, "waiter": 6}),
        (
            "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d "
            "key-value store by key '0', but store->get('0') got error: wait timeout after "
            "600000ms, keys: /default_pg/0//cuda//0",
            P.UNIQUE_ID_TIMED_OUT,
            {"waiter": 3, "owner": 0, "key": "0", "timeout_ms": 600_000},
        ),
        (
            "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d "
            "key-value store by key '0', but store->get('0') got error: Socket Timeout",
            P.UNIQUE_ID_TIMED_OUT,
            {"waiter": 3, "owner": 0, "timeout_ms": None},
        ),
        (
            "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d "
            "key-value store by key '0', but store->get('0') got error: Connection reset by peer",
            P.PEER_CLOSED,
            {"waiter": 3, "owner": 0},
        ),
        (
            f"Timed out initializing process group {BARRIER}: 3, for key: "
            "store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)",
            P.BARRIER_TIMED_OUT,
            {"waiter": 3, "joined": 7, "expected": 8, "timeout_ms": 1_800_000},
        ),
        (
            f"Timed out initializing process group {BARRIER} 3, for key: "
            "store_based_barrier_key:1 (world_size=8, num_workers_joined=7, timeout=0:10:00 "
            "error=wait timeout)",
            P.BARRIER_TIMED_OUT,
            {"waiter": 3, "joined": 7, "expected": 8, "timeout_ms": 600_000},
        ),
        (
            "Waiting in store based barrier to initialize process group for rank: 3, key: "
            "store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)",
            P.BARRIER_WAITING,
            {"waiter": 3, "joined": 7},
        ),
        (
            "Waiting in store based barrier to initialize process group for 10.01 secondsrank: 3, "
            "key: store_based_barrier_key:1 (world_size=8, num_workers_joined=7, timeout=0:30:00 "
            "error=x)",
            P.BARRIER_WAITING,
            {"waiter": 3, "joined": 7},
        ),
        (
            "[c10d] recvValue failed on SocketImpl(fd=67, addr=[n2]:36214, remote=[n1]:43145): "
            "failed to recv, got 0 bytes",
            P.PEER_CLOSED,
            {"host": "n1", "port": 43145},
        ),
        (
            '[PG ID 0 PG GUID 0 Rank 1] Failed to check the "should dump" flag on TCPStore, '
            "(maybe TCPStore server has shut down too early), with error: Broken pipe",
            P.PEER_CLOSED,
            {"waiter": 6},
        ),
        ("RuntimeError: Connection reset by peer", P.PEER_CLOSED, {}),
        (
            "[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address "
            "already in use).",
            P.PORT_IN_USE,
            {"port": 29500},
        ),
        (
            "The server socket has failed to listen on any local network address. useIpv6: 0, "
            "code: -98, name: EADDRINUSE, message: address already in use",
            P.PORT_IN_USE,
            {"port": None},
        ),
        (
            "[c10d] The client socket has timed out after 300s while trying to connect to (10.9.8",
            P.CONNECT_TIMED_OUT,
            {"host": None, "timeout_ms": 300_000},
        ),
        (
            "The server socket has failed to listen on any local network address. port: 29500, "
            "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
            P.PORT_IN_USE,
            {"port": 29500},
        ),
        (
            "The server socket has failed to listen on any local network address. port: 29500, "
            "useIpv6: false, code: -99, name: EADDRNOTAVAIL, message: address not available",
            P.BAD_CONFIGURATION,
            {"port": 29500},
        ),
        (
            "RendezvousConnectionError: The connection to the C10d store has failed. See inner",
            P.RENDEZVOUS_UNREACHABLE,
            {},
        ),
        ("torch…rendezvous.api.RendezvousTimeoutError", P.RENDEZVOUS_TIMED_OUT, {}),
        ("torch…rendezvous.api.RendezvousClosedError", P.RENDEZVOUS_CLOSED, {}),
        (
            "The node 'host_1_0' has failed to send a keep-alive heartbeat to the rendezvous 'x' "
            "due to an error of type RendezvousTimeoutError.",
            P.NODE_LOST,
            {},
        ),
        (
            "As part of the sync operation the node(s) 'gpu-7_31177_0' have been removed from the "
            "rendezvous 'x' since they had no heartbeat.",
            P.NODE_LOST,
            {"host": "gpu-7"},
        ),
        (
            "ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
            "variable MASTER_ADDR expected, but not set",
            P.BAD_CONFIGURATION,
            {},
        ),
    ],
)
def test_messages(text: str, problem: StoreProblem, told: dict[str, Any]) -> None:
    found = only(StoreFault, feed(StoreParser, line(text, rank=6)))
    assert found.problem is problem
    assert {name: getattr(found, name) for name in told} == told


@pytest.mark.parametrize(
    "text",
    [
        "    raise RendezvousTimeoutError()",
        "ValueError: Default process group has not been initialized, please make sure to call",
        "The client socket has connected to [n1]:29500 on SocketImpl(fd=3).",
        "frame #4: c10d::TCPStore::check(std::vector<std::string> const&) + 0x188",
        "Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 8 nodes.",
    ],
)
def test_normal_course_and_code(text: str) -> None:
    assert feed(StoreParser, text) == []
