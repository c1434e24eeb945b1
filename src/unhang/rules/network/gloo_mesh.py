"""Gloo's ranks could not connect to each other.

## What it finds
"Gloo connectFullMesh failed", with or without an address; decisive when ranks of a group that spans
hosts meet at a loopback address.

## Why it hangs
Gloo publishes the address of the interface that the host name resolves to, and every rank connects
to every other. Where the name resolves to 127.0.0.1 or to an interface that others cannot reach,
the mesh never forms: `new_group`, CPU barriers and object collectives fail or time out.

## When it stays quiet
"Connection closed by peer" is second-hand: somebody was connected and left. After a lost rank, a
stop or a time-out, and in a restart of a job whose first start had connected, the failure is only a
hint.

## How to confirm
`python -c "import socket; print(socket.gethostbyname(socket.gethostname()))"` on every host: it
must print an address that the other hosts reach.

## What to do
Set `GLOO_SOCKET_IFNAME` to the interface between the hosts, on every host (with `hostNetwork` pods
and containers too), or correct `/etc/hosts`.

## References
PyTorch documentation, "Choosing the network interface to use"; `gloo/transport/tcp/pair.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import GlooFault, GlooProblem, HostAddress
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers
from unhang.rules.shared.addresses import leads_nowhere

_FAILED = frozenset({GlooProblem.CONNECT_FAILED, GlooProblem.LOOPBACK})


@rule(
    "NET003",
    "gloo-mesh-not-connected",
    cause=Cause.NET_INTERFACE,
    needs={Fact.GLOO},
    explains=consequences.OF_A_BROKEN_SETUP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the mesh that did not form."""
    failed = speakers.in_order(g for g in incident.all(GlooFault) if g.problem in _FAILED)
    if not failed:
        return
    loopback = next((g for g in failed if g.problem is GlooProblem.LOOPBACK), None)
    first = loopback or failed[0]
    # Ranks of one host may meet at its loopback: then a refused connection is a lost rank.
    local = loopback is not None and _on_one_host(incident)
    against = rivals.of_errors(incident, [first, *failed])
    if against is None and incident.connected_before:
        against = say(
            "NET003.against_connected_before",
            "the previous start had connected over the same addresses",
        )
    if local and against is None:
        against = say(
            "NET003.against_one_host",
            "Everything that was seen is on one host, where loopback is right: the peer may be "
            "gone.",
        )
    sure = Strength.PROVES if loopback is not None else Strength.SUPPORTS
    yield check.finding(
        sure,
        claim=say("NET003.claim", "Gloo's ranks could not connect to each other")
        if loopback is None
        else say(
            "NET003.claim_loopback",
            "Gloo's ranks meet at {remote}: the host name resolves to the loopback address",
            remote=first.remote,
        ),
        why=say(
            "NET003.why",
            "Gloo publishes the address that the host name resolves to; every other rank must"
            " reach it.",
        ),
        rival=against,
        culprit_hosts=_by_name(incident),
        at=first.at,
        evidence=[first, *failed],
    )


def _by_name(incident: Incident) -> frozenset[str]:
    """The hosts whose own name leads to themselves alone, where those of others do not."""
    told = [a for a in incident.all(HostAddress) if a.by_name]
    wrong = frozenset(a.host for a in told if leads_nowhere(a.address))
    return wrong if 2 * len(wrong) < len({a.host for a in told}) else frozenset()


def _on_one_host(incident: Incident) -> bool:
    """Whether everything that is known of the job lies on one host, and no more than fits it."""
    known = {f.host for f in incident.roster.values() if f.host is not None}
    size = incident.world.size
    return len(known) == 1 and size is not None and size <= len(incident.roster)
