"""A host bootstraps NCCL over an interface that no other host can reach.

## What it finds
`Bootstrap : Using …` with loopback, a container's bridge, a tunnel or a link-local address on one
of several hosts, while no collective ever completed.

## Why it hangs
NCCL takes the first interface that seems suitable. On hosts with Docker, virtual machines or VPNs
that may be one that exists on every host and leads nowhere. The peers connect to an address of
their own machine, or to nothing, and wait.

## When it stays quiet
On a single host, and when a collective of the job completed: then the connections work.

## How to confirm
`NCCL_DEBUG=INFO`: the line `Bootstrap : Using` of every host must show one subnet.

## What to do
`NCCL_SOCKET_IFNAME` to the interface between the hosts, or `NCCL_SOCKET_IFNAME=^lo,docker,virbr`.

## References
NCCL documentation, `NCCL_SOCKET_IFNAME`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import InterfaceUsed, Progress
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers
from unhang.rules.shared.addresses import leads_nowhere


@rule(
    "NET014",
    "bootstrap-over-private-interface",
    cause=Cause.NET_INTERFACE,
    needs={Fact.NCCL_INFO},
    explains=consequences.OF_A_BROKEN_SETUP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all hosts with such an interface."""
    used = [u for u in incident.all(InterfaceUsed) if u.library == "nccl"]
    private = [u for u in used if leads_nowhere(u.interface) or leads_nowhere(u.address or "")]
    if not private or len(speakers.hosts(used)) < 2 or _worked(incident):
        return
    first = private[0]
    against = rivals.of_errors(incident, private, after_timeout=False)
    stuck = len(incident.calls) > 0
    yield check.finding(
        Strength.SUPPORTS if stuck else Strength.HINTS,
        claim=say(
            "NET014.claim",
            "{hosts} bootstraps NCCL over {interface}, which other hosts cannot reach",
            hosts=speakers.hosts(private),
            interface=first.interface,
        ),
        why=say(
            "NET014.why",
            "No collective ever completed: the connections between hosts never worked.",
        ),
        rival=against,
        culprit_hosts=speakers.minority_hosts(incident, private),
        at=first.at,
        evidence=private,
    )


def _worked(incident: Incident) -> bool:
    """Whether a collective was finished, or steps were made."""
    joins = [j for call in incident.calls for j in call.sides]
    completed = any(j.completed is not None and j.completed >= 1 for j in joins)
    later = any(call.seq is not None and call.seq > 1 for call in incident.calls)
    return completed or later or any(p.done > 1 for p in incident.all(Progress))
