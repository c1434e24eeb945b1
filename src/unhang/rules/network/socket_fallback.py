"""NCCL moves data between hosts over TCP sockets.

## What it finds
Channels `via NET/Socket`, or "Using network Socket" on several hosts, while a collective did not
finish in time.

## Why it hangs
Where NCCL finds no InfiniBand, RoCE or EFA device it says so once, at INFO level, and takes sockets
over the bootstrap interface: ten to a hundred times slower. Large gathers may outlast the timeout,
and every step takes far longer than planned. Somebody may have measured the link: a gigabit
Ethernet between hosts is slow enough for every call, and of a faster one `sar -n DEV` shows that
the job fills it.

## When it stays quiet
On one host the network is not used. Sockets alone explain no time-out of a small collective, and
nothing where another failure is printed: the finding is a hint unless the collective is larger than
what TCP moves in the time it had, or the link was measured and no rank is missing in the call. An
interface that NCCL does not use may be as full as it likes.

## How to confirm
`NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET`: "NET/IB : No device found" against the adapters of
`ibv_devices`; `all_reduce_perf` from nccl-tests over two hosts.

## What to do
Give the container the devices (`--device /dev/infiniband`, `--network host`, the RDMA resource of
the Kubernetes plugin), unset `NCCL_IB_DISABLE`, install the provider's NCCL plugin.

## References
NCCL documentation, `NCCL_IB_DISABLE`, `NCCL_NET`; `src/transport/net_socket.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import BandwidthMeasured, InterfaceUsed, LinkLoad, TransportUsed
from unhang.model.incident import Call
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.network import sockets_used
from unhang.rules.shared import order, rivals, speakers

_TCP_BYTES_PER_S = 100_000_000.0
"""A gigabit Ethernet; what sockets move at worst."""
_BYTES_PER_ELEMENT = 2
_LEAST_GBPS, _MOST_GBPS = 0.04, 0.2
"""Less is an idle link that somebody looked at; more is faster than a gigabit Ethernet."""
_FULL = 0.8
"""Share of a link's speed that TCP hardly exceeds for long."""


@rule("NET008", "sockets-between-hosts", cause=Cause.BANDWIDTH_LOW, needs={Fact.NCCL_INFO})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding when sockets between hosts may be why a call took too long."""
    sockets = [t for t in incident.all(TransportUsed) if sockets_used.is_socket(t)]
    measured, full = _measured(incident), _full(incident)
    if not sockets or not (full is not None or sockets_used.cross_hosts(sockets)):
        return
    if not incident.calls:
        quiet = not incident.failures and not order.stops(incident) and not incident.finished
        if full is not None and quiet:
            yield _of_full(sockets, full)
        elif measured is not None and quiet:
            yield _of_link(sockets, measured)
        return
    call = incident.calls[0]
    against = rivals.of_errors(incident, sockets, after_timeout=False)
    if against is None and full is not None and _all_wait(incident, call):
        yield _of_full(sockets, full, call)
        return
    if against is None and measured is not None and _all_wait(incident, call):
        yield _of_link(sockets, measured, call)
        return
    if against is None and not _size(call):
        against = say(
            "NET008.against_unknown",
            "The size of the collective is not known: sockets alone may not explain the timeout.",
        )
    elif against is None and not _outlasts(call):
        against = say(
            "NET008.against_small",
            "The collective is small enough for TCP: sockets alone do not explain the timeout.",
        )
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "NET008.claim",
            "data goes over TCP sockets between {hosts} while {op} does not finish",
            hosts=speakers.hosts(sockets) or "the hosts",
            op=_operation(call),
        ),
        why=say(
            "NET008.why",
            "NCCL found no RDMA device and took sockets, ten to a hundred times slower.",
        ),
        rival=against,
        call=call,
        evidence=sockets,
    )


def _of_link(
    sockets: list[TransportUsed], measured: BandwidthMeasured, call: Call | None = None
) -> Finding:
    return check.finding(
        Strength.SUPPORTS,
        claim=say(
            "NET008.claim_link",
            "data goes over TCP sockets between hosts, and {gbps:.2f} GB/s is what the link gives",
            gbps=measured.busbw_gbps,
        ),
        why=say(
            "NET008.why",
            "NCCL found no RDMA device and took sockets, ten to a hundred times slower.",
        ),
        call=call,
        evidence=[sockets[0], measured],
    )


def _of_full(sockets: list[TransportUsed], full: LinkLoad, call: Call | None = None) -> Finding:
    return check.finding(
        Strength.SUPPORTS,
        claim=say(
            "NET008.claim_full",
            "data goes over TCP sockets between hosts, and fills {interface}: {gbps:.2f} GB/s, "
            "{percent} % of what it can carry",
            interface=full.interface,
            gbps=full.gbps,
            percent=round(full.share * 100),
        ),
        why=say(
            "NET008.why",
            "NCCL found no RDMA device and took sockets, ten to a hundred times slower.",
        ),
        call=call,
        evidence=[sockets[0], full],
    )


def _full(incident: Incident) -> LinkLoad | None:
    """The last look at an interface of NCCL's that was full then."""
    used = {seen.interface for seen in incident.all(InterfaceUsed) if seen.library == "nccl"}
    looks = [load for load in incident.all(LinkLoad) if load.interface in used]
    return next((load for load in reversed(looks) if load.share >= _FULL), None)


def _measured(incident: Incident) -> BandwidthMeasured | None:
    """The best that anybody measured, where it is a full gigabit Ethernet and no more."""
    best = max(incident.all(BandwidthMeasured), key=lambda row: row.busbw_gbps, default=None)
    return best if best is not None and _LEAST_GBPS <= best.busbw_gbps <= _MOST_GBPS else None


def _all_wait(incident: Incident, call: Call) -> bool:
    """Whether nobody is known to be missing in the call that all wait in."""
    world = incident.world.ranks or frozenset(incident.roster)
    return len(incident.calls) == 1 and not world - call.joined


def _outlasts(call: Call) -> bool:
    """Whether the slowest usual link would need longer for the call than it was given."""
    limit = call.timeout_ms
    return limit is not None and _size(call) / _TCP_BYTES_PER_S > limit / 1_000


def _size(call: Call) -> int:
    """Bytes of the call at two for each element; 0 where no rank told."""
    elements = (max(side.numel_in or 0, side.numel_out or 0) for side in call.sides)
    return max(elements, default=0) * _BYTES_PER_ELEMENT


def _operation(call: Call) -> str:
    return call.first.op if call.first is not None and call.first.op else "the collective"
