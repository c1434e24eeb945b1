"""A rank's connection to a peer is dropped, refused or has no route.

## What it finds
NCCL's connects that time out, find no route, or are refused; and the interface that NCCL
bootstraps over when it is one that no other host can reach (loopback, a container's bridge, a
tunnel, a link-local address).

## Why it hangs
A communicator needs a connection from every host to every other one, on ports that the system
picks. The store works over its one open port all the same, so the job starts and then stops at the
first collective.

## When it stays quiet
"Refused" means that nobody listens: the peer may have died, so without an unreachable address it is
only a hint, and so is everything that follows a lost rank, a stop or a time-out. On a single host
loopback is right.

## How to confirm
From the named host: `nc -vz PEER PORT` with a listener (`nc -l PORT`) on the peer, over the same
interface. `ping` proves nothing: firewalls let it pass.

## What to do
`NCCL_SOCKET_IFNAME` (and `GLOO_SOCKET_IFNAME`) to the interface between the hosts; open all ports
between the nodes in both directions (self-referencing security group, network policy, no sidecar
proxy), or fix the range with `net.ipv4.ip_local_port_range`.

## References
NCCL documentation, `NCCL_SOCKET_IFNAME`; `src/misc/socket.cc` (retries and their limits).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import HostAddress, InterfaceUsed, NcclFailure, NcclReason
from unhang.model.finding import Collect
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, ends, rivals, speakers
from unhang.rules.shared.addresses import leads_nowhere

_DROPPED = frozenset({NcclReason.CONNECT_TIMED_OUT, NcclReason.NO_ROUTE})
_REFUSED = frozenset({NcclReason.CONNECT_REFUSED, NcclReason.CONNECT_ABORTED})
_NCCL_INFO = Collect.of("nccl_info")


@rule(
    "NET002",
    "peer-unreachable",
    cause=Cause.NET_INTERFACE,
    needs={Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_BROKEN_SETUP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the connections that failed."""
    failed = speakers.nccl(incident, *_DROPPED, *_REFUSED)
    if not failed:
        return
    first = next((e for e in failed if e.reason in _DROPPED), failed[0])
    wrong = _private_address(incident, failed)
    against = rivals.of_errors(incident, [first, *failed])
    if wrong is None and first.reason not in _DROPPED and against is None:
        against = say(
            "NET002.against_refused",
            "A refused connection also means that the peer's process was already gone.",
        )
    strength = _strength(first, wrong)
    yield check.finding(
        strength,
        claim=say(
            "NET002.claim",
            "{peer} cannot be reached: {text}",
            peer=first.peer or "a peer",
            text=first.detail[:160],
        )
        if wrong is None
        else say(
            "NET002.claim_private",
            "ranks meet at {address}, an address that other hosts cannot reach",
            address=wrong,
        ),
        why=say(
            "NET002.why",
            "Ranks connect to each other on ports that the system picks; a firewall or a"
            " wrong interface drops these connections although the store works.",
        )
        if wrong is None
        else say(
            "NET002.why_private",
            "Loopback, container bridges, tunnels and link-local addresses lead nowhere"
            " from another host.",
        ),
        rival=against,
        culprit_hosts=_whose(incident, failed, wrong),
        at=first.at,
        evidence=[first, *failed],
        collect=() if strength is Strength.PROVES and against is None else (_NCCL_INFO,),
    )


def _whose(incident: Incident, failed: Sequence[NcclFailure], wrong: str | None) -> frozenset[str]:
    """The one host that has the wrong address, else the one that is an end of all failures."""
    owners = frozenset[str]() if wrong is None else ends.owners_of(incident, wrong)
    return owners if len(owners) == 1 else ends.of_failed(incident, failed)


def _strength(first: NcclFailure, wrong: str | None) -> Strength:
    """An address that cannot work, or the kernel's own "no route", leave nothing open."""
    if wrong is not None or first.reason is NcclReason.NO_ROUTE:
        return Strength.PROVES
    unwound = first.error_class is not None and first.peer is None
    return Strength.HINTS if unwound else Strength.SUPPORTS


def _private_address(incident: Incident, failed: Sequence[NcclFailure]) -> str | None:
    """An address or interface in use that other hosts cannot reach."""
    for event in failed:
        of = [a for a in incident.all(HostAddress) if a.address == event.peer]
        own = any(leads_nowhere(a.interface) for a in of)
        if event.peer is not None and (own or leads_nowhere(event.peer)):
            return event.peer
    used = [u for u in incident.all(InterfaceUsed) if u.library == "nccl"]
    for interface in used if len(speakers.hosts(used)) > 1 else ():
        if leads_nowhere(interface.interface):
            return interface.interface
    return None
