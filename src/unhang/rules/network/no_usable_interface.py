"""A process found no network interface that it may use.

## What it finds
NCCL's "no socket interface found" and its relatives (no interface in the peer's subnet, no IP
address family at all), or Gloo's failure to resolve the host name to a local address.

## Why it hangs
NCCL and Gloo choose an interface once, when the communicator is made. A name in
`NCCL_SOCKET_IFNAME` or `GLOO_SOCKET_IFNAME` that this host (or its container) does not have leaves
none. The rank raises, and the others wait for it in the same set-up.

## When it stays quiet
A plugin or an InfiniBand device that is not found is not such a failure: sockets remain.

## How to confirm
`ip -br addr` on the named host, inside the container; compare with the variable.

## What to do
Unset the variable, or set it to a prefix that every host has (`eth`, `^lo,docker`); map the host
name to the host's own address in `/etc/hosts`.

## References
NCCL documentation, `NCCL_SOCKET_IFNAME`; `src/misc/socket.cc`; `gloo/transport/tcp/device.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import GlooFault, GlooProblem, NcclReason
from unhang.model.events.base import Seen
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, ends, speakers


@rule(
    "NET001",
    "no-usable-interface",
    cause=Cause.NET_INTERFACE,
    needs={Fact.NCCL_WARNINGS, Fact.GLOO},
    explains=consequences.OF_A_BROKEN_SETUP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all processes without an interface."""
    found: list[Seen] = [
        *speakers.nccl(incident, NcclReason.NO_INTERFACE, NcclReason.NO_SHARED_SUBNET),
        *(g for g in incident.all(GlooFault) if g.problem is GlooProblem.RESOLVE_FAILED),
    ]
    if not found:
        return
    yield check.finding(
        Strength.PROVES,
        claim=say("NET001.claim", "no network interface can be used: {text}", text=_text(found[0])),
        why=say(
            "NET001.why",
            "NCCL and Gloo need one interface; the one asked for does not exist on this host"
            " or in its container.",
        ),
        culprits=_minority(incident, found)
        or speakers.ranks_on(
            incident,
            ends.without_common_interface(incident) or speakers.minority_hosts(incident, found),
        ),
        culprit_hosts=ends.without_common_interface(incident)
        or speakers.minority_hosts(incident, found),
        at=found[0].at,
        evidence=found,
    )


def _minority(incident: Incident, found: list[Seen]) -> Ranks:
    """The ranks that complain, where most others are known and do not."""
    told = frozenset(e.origin.rank for e in found if e.origin.rank is not None)
    return told if 2 * len(told) < len(incident.roster) else NO_RANKS


def _text(event: Seen) -> str:
    return getattr(event, "detail", "") or event.source.text[:160]
