"""A network port of a host went down while the job ran.

## What it finds
NCCL's asynchronous "port error" of an adapter, or the kernel's "Link down" of an InfiniBand, RoCE
or Ethernet adapter.

## Why it hangs
Packets on the way are lost, the peers' retries run out, and every peer of that host reports errors
(status 12) that name it. The host that prints the port error is the faulty side, not the one that
prints 12.

## When it stays quiet
A link that goes down in the kernel log counts only where the job shows trouble of its network or a
time-out; where the clocks can be compared it must lie within an hour before it. Alone it is a
hint: hosts reset unused ports all the time. So is a port error of NCCL, unless it comes again and
again and no work is seen after the first.

## How to confirm
`ibstat`, `ethtool -S`, `mlxlink -d DEVICE -c` on that host; the switch's log of the port.

## What to do
Replace cable, transceiver or port; keep the node out of jobs until then.

## References
`ibv_get_async_event(3)`; NCCL `src/transport/net_ib` (asynchronous events).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import KernelEvent, KernelProblem, NcclFailure, NcclReason, Progress
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, rivals, speakers

_TROUBLE = frozenset(
    {
        NcclReason.IB_COMPLETION,
        NcclReason.IB_FLUSHED,
        NcclReason.PEER_CLOSED,
        NcclReason.CONNECT_TIMED_OUT,
        NcclReason.SOCKET_BROKEN,
    }
)
_WINDOW_S = 3_600.0
_AGAIN = 3


@rule(
    "NET006",
    "network-port-went-down",
    cause=Cause.RDMA_FAULT,
    needs={Fact.NCCL_WARNINGS, Fact.KERNEL_LOG},
    explains=consequences.OF_A_BROKEN_LINK | {Cause.NET_INTERFACE},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ports that went down."""
    events = speakers.nccl(incident, NcclReason.IB_PORT_EVENT)
    links = [
        k
        for k in incident.all(KernelEvent)
        if k.problem is KernelProblem.LINK_DOWN and _matters(incident, k)
    ]
    found: list[NcclFailure | KernelEvent] = [*events, *links]
    if not found:
        return
    first = found[0]
    against = rivals.of_errors(incident, found)
    certain = _troubled(incident) or any(map(_is_fatal, events)) or _stays(incident, events)
    sure = Strength.PROVES if events and _troubled(incident) else Strength.SUPPORTS
    yield check.finding(
        sure if certain else Strength.HINTS,
        claim=say(
            "NET006.claim",
            "the network port of {hosts} went down ({device})",
            hosts=speakers.hosts(found) or "a host",
            device=_device(first),
        ),
        why=say(
            "NET006.why",
            "The host that reports its own port is the faulty side; its peers only time out.",
        ),
        rival=against,
        culprits=speakers.minority(incident, events),
        culprit_hosts=speakers.hosts(found),
        at=first.at,
        evidence=found,
    )


def _troubled(incident: Incident) -> bool:
    """Whether the job itself noticed something."""
    return len(incident.timeouts) > 0 or len(speakers.nccl(incident, *_TROUBLE)) > 0


def _stays(incident: Incident, events: Sequence[NcclFailure]) -> bool:
    """Whether a port went down again and again, and no work is seen any more."""
    steps = incident.all(Progress)
    return len(events) >= _AGAIN and all(order.is_before(s, events[0]) for s in steps)


def _is_fatal(event: NcclFailure) -> bool:
    """Whether the adapter itself failed: no link that flaps does that, and no job survives it."""
    detail = event.detail.lower()
    return "catastrophic" in detail or "device fatal" in detail


def _matters(incident: Incident, link: KernelEvent) -> bool:
    """Whether the link went down near the job's trouble, as far as clocks tell."""
    troubles = [*speakers.nccl(incident, *_TROUBLE), *incident.timeouts]
    gaps = [gap for t in troubles if (gap := order.gap_s(t, link)) is not None]
    return not gaps or any(-60.0 <= gap <= _WINDOW_S for gap in gaps)


def _device(event: NcclFailure | KernelEvent) -> str:
    device = event.hca if isinstance(event, NcclFailure) else event.device
    return device or "its adapter"
