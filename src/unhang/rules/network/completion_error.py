"""An InfiniBand or RoCE transfer completed with an error.

## What it finds
NCCL's `Got completion … status=N … vendor err M` (or UCX's "Transport retry count exceeded") with
a status other than 5.

## Why it hangs
Status 12 (vendor 129): packets or their acknowledgements did not arrive until the retries ran out:
on the first collective a GID index, MTU, routing or lossless-Ethernet setting, later a link. Status
13: the receiver was not ready. Status 4, 10 and 11 (vendor 81, 136): an adapter could not reach
the memory, on this side (4) or on the other one: mostly PCIe access control (ACS) against
GPUDirect, sometimes memory that its owner has given back. The rank raises; its peers see flushes,
closed connections and time-outs.

## When it stays quiet
Status 5 is the flush of a queue that had failed before: never primary. After a lost rank, a stop or
a time-out, retries run out because the peer is gone: only a hint. The peer named by one host alone
is not accused: either side, or the path between them, may be at fault. A rank is named where it is
the only one whose transfers failed, and the status is not that of the other side's memory.

## How to confirm
`ibv_devinfo`, `perfquery`/`rdma statistic` for symbol errors and link downs on both hosts;
`ib_write_bw -R` between them; `show_gids` for the RoCE v2 index.

## What to do
12: correct `NCCL_IB_GID_INDEX` and MTU, PFC/ECN on the switches, change the cable or port that
flaps; `NCCL_IB_TIMEOUT=22` only bridges short flaps. 4/10/11: disable ACS on the PCIe bridges, or
`NCCL_NET_GDR_LEVEL=LOC` to work around it.

## References
InfiniBand specification, work completion status; NCCL documentation, `NCCL_IB_TIMEOUT`,
`NCCL_IB_GID_INDEX`; `src/transport/net_ib`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from unhang.model.events import KernelEvent, KernelProblem, NcclFailure, NcclReason
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, ends, rivals, speakers

_MEMORY_STATUSES = frozenset({4, 10, 11})
_OF_THE_OTHER_SIDE = frozenset({10, 11})
"""Remote access and remote operation errors: who reports them is not who has the fault."""
_SIZE_STATUSES = frozenset({1, 9})
"""The message does not fit the buffer: more often different sizes than a fault of the link."""


@rule(
    "NET005",
    "rdma-completion-error",
    cause=Cause.RDMA_FAULT,
    needs={Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_BROKEN_LINK | {Cause.NET_INTERFACE},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all completions with an error of their own."""
    found = speakers.nccl(incident, NcclReason.IB_COMPLETION)
    if not found:
        return
    first = found[0]
    against = rivals.of_errors(incident, found)
    if against is None and first.status in _SIZE_STATUSES:
        against = say(
            "NET005.against_size",
            "This status also appears when the two sides disagree about the message's size.",
        )
    memory = first.status in _MEMORY_STATUSES
    yield check.finding(
        Strength.PROVES,
        claim=say(
            "NET005.claim",
            "{hosts} got an RDMA completion error from {peer}: status {status}, vendor"
            " error {vendor}",
            hosts=speakers.hosts(found) or "a host",
            peer=first.peer or "a peer",
            status=first.status,
            vendor=first.vendor_error,
        )
        if first.status is not None
        else say(
            "NET005.claim_text",
            "{hosts} got an RDMA error: {text}",
            hosts=speakers.hosts(found) or "a host",
            text=first.detail[:160],
        ),
        why=say(
            "NET005.why_memory",
            "An adapter could not reach the memory: mostly PCIe access control (ACS) blocks"
            " GPUDirect; memory that its owner has given back looks the same.",
        )
        if memory
        else say(
            "NET005.why",
            "Retries ran out: packets between these two adapters, or their"
            " acknowledgements, are lost.",
        ),
        rival=against,
        culprits=NO_RANKS
        if against is not None or first.status in _OF_THE_OTHER_SIDE
        else _lone(incident, found),
        culprit_hosts=_flapped(incident) or _accused(found) or ends.of_failed(incident, found),
        at=first.at,
        evidence=found,
    )


def _lone(incident: Incident, found: Sequence[NcclFailure]) -> Ranks:
    """The one rank whose transfers failed, where no port or peer stands out."""
    flapped = _flapped(incident)
    if flapped:
        there = [e for e in found if e.origin.host in flapped]
        ranks = speakers.ranks(incident, there)
        return ranks if len(ranks) == 1 else NO_RANKS
    if _accused(found) or ends.of_failed(incident, found):
        return NO_RANKS
    printers = {(e.origin.host, e.origin.pid, e.origin.rank) for e in found}
    return speakers.ranks(incident, found) if len(printers) == 1 else NO_RANKS


def _accused(found: Sequence[NcclFailure]) -> frozenset[str]:
    """The peer that at least two hosts name, when it is the only one."""
    namers = defaultdict(set)
    for event in found:
        if event.peer is not None and event.origin.host is not None:
            namers[event.peer].add(event.origin.host)
    often = [peer for peer, hosts in namers.items() if len(hosts) > 1]
    return frozenset(often) if len(often) == 1 else frozenset()


def _flapped(incident: Incident) -> frozenset[str]:
    """Hosts whose own port went down: their side is the faulty one."""
    down = [k for k in incident.all(KernelEvent) if k.problem is KernelProblem.LINK_DOWN]
    return speakers.hosts([*speakers.nccl(incident, NcclReason.IB_PORT_EVENT), *down])
