"""The port of the store is taken.

## What it finds
The process that hosts the store cannot listen on its port (`EADDRINUSE`).

## Why it hangs
Without a store nobody can join. The other ranks try to connect until their limit, or talk to the
foreign program that owns the port.

## When it stays quiet
When a rank had failed or the job had been stopped before.

## How to confirm
`ss -ltnp 'sport = :PORT'` on the host of rank 0 names the owner.

## What to do
End processes of an earlier run; give each job of a shared node a port of its own (torchrun
`--standalone` or `--rdzv-endpoint=HOST:0`). A port below 1024 is a leaked `PORT` variable of the
system. If `MASTER_PORT` has no effect, the framework has its port in the code, or several ranks of
the same job each try to host the store.

## References
`torch/csrc/distributed/c10d/socket.cpp`, `TCPStore.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StoreProblem
from unhang.model.finding import Collect
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.config.rendezvous import faults, why_echo
from unhang.rules.shared import speakers

_SYSTEM_PORTS = 1024
_OWNER = Collect.of("port_owner")


@rule(
    "CFG001",
    "store-port-in-use",
    cause=Cause.RENDEZVOUS,
    needs={Fact.STORE},
    explains=frozenset({Cause.NET_INTERFACE, Cause.RANK_EXCEPTION}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first port that is taken."""
    taken = faults(incident, [StoreProblem.PORT_IN_USE])
    if not taken:
        return
    first = taken[0]
    port = next((f.port for f in taken if f.port is not None), None)
    against = why_echo(incident, first)
    if port is None:
        claim = say("CFG001.claim_unknown", "the port of the store is already in use")
    elif port < _SYSTEM_PORTS:
        claim = say(
            "CFG001.claim_system",
            "the store is configured to use port {port}, which belongs to a system service",
            port=port,
        )
    else:
        claim = say("CFG001.claim", "port {port} of the store is already in use", port=port)
    yield check.finding(
        Strength.PROVES,
        claim=claim,
        why=say("CFG001.why", "Without a store that listens nobody can join the job."),
        rival=against,
        culprits=speakers.minority(incident, taken),
        phase=Phase.INIT,
        at=first.at,
        evidence=taken,
        collect=(_OWNER,),
    )
