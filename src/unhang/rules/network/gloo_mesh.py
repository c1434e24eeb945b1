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

from unhang.model.causes import Cause
from unhang.model.events import GlooFault, GlooProblem
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.rules import witnesses
from unhang.rules.network.echoes import ECHOES_OF_A_BROKEN_SETUP

_FAILED = frozenset({GlooProblem.CONNECT_FAILED, GlooProblem.LOOPBACK})


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the mesh that did not form."""
    failed = witnesses.in_order(g for g in incident.all(GlooFault) if g.problem in _FAILED)
    if not failed:
        return
    loopback = next((g for g in failed if g.problem is GlooProblem.LOOPBACK), None)
    first = loopback or failed[0]
    # Ranks of one host may meet at its loopback: then a refused connection is a lost rank.
    local = loopback is not None and _on_one_host(incident)
    against = witnesses.rival(incident, [first, *failed])
    if against is None and incident.connected_before:
        against = Message(key="NET003.against_connected_before")
    if local and against is None:
        against = Message(key="NET003.against_one_host")
    sure = Strength.PROVES if loopback is not None else Strength.SUPPORTS
    yield Finding(
        rule=RULE.code,
        cause=Cause.NET_INTERFACE,
        strength=witnesses.weaker(sure, against),
        claim=Message(
            key="NET003.claim" if loopback is None else "NET003.claim_loopback",
            values={"remote": first.remote, "size": first.size},
        ),
        why=Message(key="NET003.why"),
        against=against,
        explains=ECHOES_OF_A_BROKEN_SETUP,
        at=first.at,
        evidence=witnesses.evidence([first, *failed]),
    )


def _on_one_host(incident: Incident) -> bool:
    """Whether everything that is known of the job lies on one host, and no more than fits it."""
    known = {f.host for f in incident.roster.values() if f.host is not None}
    size = incident.world.size
    return len(known) == 1 and size is not None and size <= len(incident.roster)


RULE = Rule(
    code="NET003",
    name="gloo-mesh-not-connected",
    cause=Cause.NET_INTERFACE,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.GLOO}),
    check=check,
)
