"""Most of each step is communication, over a slow way.

## What it finds
Steps of which the program itself times the parts, where communication takes most of them, while
NCCL moves data over TCP sockets between hosts, or a network interface is full.

## Why it hangs
Nothing hangs: each step waits for the network, and takes several times as long as its computing.

## When it stays quiet
Without a slow way in sight the wait may be for a slow rank. A job that failed, was stopped or
finished, or whose calls timed out, is not judged by its pace.

## How to confirm
`ib_write_bw` or nccl-tests between two hosts; the share of communication on one host alone.

## What to do
Give NCCL, MPI or oneCCL the fast network: its plugin, its devices, the right interface.

## References
NCCL documentation, `NCCL_NET`, `NCCL_SOCKET_IFNAME`; `sar(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import LinkLoad, StepParts, TransportUsed
from unhang.model.events.base import Seen
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.network import sockets_used
from unhang.rules.shared import order

_MOST = 0.6
_FEWEST = 5
_FULL = 0.8


@rule(
    "NET206",
    "steps-wait-for-the-network",
    cause=Cause.BANDWIDTH_LOW,
    needs={Fact.NCCL_INFO, Fact.BANDWIDTH},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for steps that mostly communicate over a slow way."""
    parts = [p for p in incident.all(StepParts) if p.count >= _FEWEST]
    over = incident.failures or incident.calls or order.stops(incident) or incident.finished
    way = _slow_way(incident)
    if over or way is None or not parts:
        return
    most = max(parts, key=lambda p: p.communication)
    if most.communication < _MOST:
        return
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "NET206.claim_full",
            "{percent} % of each step is communication, and {interface} is full",
            percent=round(most.communication * 100),
            interface=way.interface,
        )
        if isinstance(way, LinkLoad)
        else say(
            "NET206.claim",
            "{percent} % of each step is communication, over TCP sockets between hosts",
            percent=round(most.communication * 100),
        ),
        why=say("NET206.why", "Every step waits until the slow way has carried its data."),
        evidence=[most, way],
    )


def _slow_way(incident: Incident) -> Seen | None:
    """An interface that was full, or sockets between hosts."""
    full = next((load for load in incident.all(LinkLoad) if load.share >= _FULL), None)
    sockets = [t for t in incident.all(TransportUsed) if sockets_used.is_socket(t)]
    return full or (sockets[0] if sockets_used.cross_hosts(sockets) else None)
