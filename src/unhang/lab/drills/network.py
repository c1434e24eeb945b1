"""Start-ups that cannot complete, and links that fail."""

from __future__ import annotations

from unhang.lab.drill import Drill, Launch, Need
from unhang.lab.faults.declared import fault
from unhang.model.causes import Cause
from unhang.model.phases import Phase

_NODES = frozenset({Need.NAMESPACES})
_NOWHERE = "192.0.2.1"
"""An address that documentation may use, and nobody has."""

DRILLS = (
    Drill(
        name="store-unreachable",
        summary="rank 3 looks for the store at an address that nobody has",
        faults=(fault("env", 3, start=True, options={"set": {"MASTER_ADDR": _NOWHERE}}),),
        cause=Cause.RENDEZVOUS,
        culprits=frozenset({3}),
        may_end=True,  # the store, or the rank, may still come
        phase=Phase.INIT,
        accept=("net_interface",),
    ),
    Drill(
        name="wrong-port",
        summary="rank 1 looks for the store at a port where nobody listens",
        faults=(fault("env", 1, start=True, options={"set": {"MASTER_PORT": "9"}}),),
        cause=Cause.RENDEZVOUS,
        culprits=frozenset({1}),
        may_end=True,  # the store, or the rank, may still come
        phase=Phase.INIT,
    ),
    Drill(
        name="wrong-world-size",
        summary="all ranks are told of five ranks, and there are four",
        faults=(fault("env", start=True, options={"set": {"WORLD_SIZE": "5"}}),),
        cause=Cause.RENDEZVOUS,
        culprits=frozenset({4}),
        may_end=True,  # the store, or the rank, may still come
        phase=Phase.INIT,
    ),
    Drill(
        name="port-in-use",
        summary="another process listens at the port of the store",
        faults=(),
        cause=Cause.RENDEZVOUS,
        phase=Phase.INIT,
        launch=Launch.TAKEN_PORT,
    ),
    Drill(
        name="unknown-interface",
        summary="GLOO_SOCKET_IFNAME of rank 2 names an interface that does not exist",
        faults=(fault("env", 2, start=True, options={"set": {"GLOO_SOCKET_IFNAME": "eth9"}}),),
        cause=Cause.NET_INTERFACE,
        culprits=frozenset({2}),
        phase=Phase.INIT,
    ),
    Drill(
        name="loopback-across-nodes",
        summary="GLOO_SOCKET_IFNAME is the loopback interface, and there are two nodes",
        faults=(fault("env", start=True, options={"set": {"GLOO_SOCKET_IFNAME": "lo"}}),),
        cause=Cause.NET_INTERFACE,
        phase=Phase.INIT,
        accept=("rendezvous",),
        launch=Launch.TWO_NODES,
        needs=_NODES,
    ),
    Drill(
        name="cut-link",
        summary="the link between two nodes drops every packet from one step on",
        faults=(fault("link", 0, step=6, options={"do": "cut"}),),
        cause=Cause.NET_INTERFACE,
        accept=("bandwidth_low", "located", "undetermined"),
        launch=Launch.TWO_NODES,
        needs=_NODES,
    ),
    Drill(
        name="lossy-link",
        summary="the link between two nodes loses every second packet",
        faults=(fault("link", 0, step=6, options={"do": "lose", "one_in": 2}),),
        cause=Cause.BANDWIDTH_LOW,
        accept=("net_interface", "located", "undetermined"),
        launch=Launch.TWO_NODES,
        needs=_NODES,
    ),
    Drill(
        name="slow-link",
        summary="the link between two nodes carries 64 kbit a second",
        faults=(fault("link", 0, step=6, options={"do": "slow", "rate": "64kbit"}),),
        cause=Cause.BANDWIDTH_LOW,
        accept=("net_interface", "located", "undetermined"),
        launch=Launch.TWO_NODES,
        arguments=("--width", "512"),
        needs=_NODES,
    ),
)
"""In the order of the list."""
