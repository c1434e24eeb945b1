"""Ranks cannot reach the store: nobody hosts it, or something blocks the connection.

## What it finds
Connections to the store's address that time out, a host name that does not resolve, or an elastic
rendezvous that cannot be reached or never completes.

## Why it hangs
Rank 0 (or the agent of the endpoint's host) has to listen on `MASTER_ADDR:MASTER_PORT`. If its node
does not recognize itself under that address, is late, or was never started, everybody waits.

## When it stays quiet
Single refused attempts are normal while rank 0 starts. A rank that failed or was slow before turns
it into a hint. When training had begun, or ranks report time-outs of collectives, the
store was reached.

## How to confirm
`nc -vz HOST PORT` from another node while rank 0 waits. If the *endpoint's own* node also times
out, nobody listens; if only the others do, a firewall or a wrong interface is in the way.

## What to do
Use the host name that `hostname -f` prints on that node, the same on all nodes; start the same
number of nodes as `--nnodes` says; check `MASTER_ADDR` and the port for each node; open the port.

## References
pytorch issue 79388: an endpoint given as an address may not be recognized as this host.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Progress, StoreFault, StoreProblem
from unhang.model.events.lifecycle import STATES_OF_WORK
from unhang.model.finding import Collect
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.config.rendezvous import faults, why_echo, why_under_way
from unhang.rules.shared import order

_UNREACHED = (
    StoreProblem.CONNECT_TIMED_OUT,
    StoreProblem.RESOLVE_FAILED,
    StoreProblem.RENDEZVOUS_TIMED_OUT,
    StoreProblem.RENDEZVOUS_UNREACHABLE,
    StoreProblem.VALIDATION_FAILED,
)
_MANY = 8
"""More refused attempts than an ordinary start shows."""
_CONNECTION = Collect.of("store_connection")


@rule(
    "CFG002",
    "store-unreachable",
    cause=Cause.RENDEZVOUS,
    needs={Fact.STORE},
    explains=frozenset({Cause.RANK_EXCEPTION}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the store that could not be reached."""
    tried = faults(incident, _UNREACHED)
    unreached = [fault for fault in tried if not _lived_through(incident, fault)]
    unreached = unreached or _refused_to_the_end(incident)
    if not unreached:
        return
    first = unreached[0]
    against = why_echo(incident, first) or why_under_way(incident, first)
    yield check.finding(
        Strength.SUPPORTS,
        claim=_claim(unreached),
        why=say(
            "CFG002.why", "Rank 0, or the agent of the endpoint's host, does not answer there."
        ),
        rival=against,
        against=say("CFG002.against", "a firewall or rank 0 at slow work looks the same from here"),
        phase=Phase.INIT,
        at=first.at,
        evidence=unreached,
        collect=(_CONNECTION,),
    )


def _refused_to_the_end(incident: Incident) -> list[StoreFault]:
    """Attempts that failed again and again, and nothing worked after them."""
    refused = faults(incident, [StoreProblem.CONNECT_REFUSED])
    if len(refused) < _MANY or order.works_after(incident, refused[-1]):
        return []
    return refused


def _lived_through(incident: Incident, fault: StoreFault) -> bool:
    """Whether steps followed it: one may be another start's, or another rank's that came in."""
    later = {p.done for p in incident.all(Progress) if order.is_before(fault, p) is True}
    return len(later) >= STATES_OF_WORK


def _claim(unreached: list[StoreFault]) -> Message:
    problems = {f.problem for f in unreached}
    named = next((f for f in unreached if f.host is not None), None)
    if StoreProblem.RESOLVE_FAILED in problems and named is not None:
        return say(
            "CFG002.claim_resolve",
            "the host name of the store, {host}, does not resolve",
            host=named.host,
        )
    if named is not None and named.port is not None:
        return say(
            "CFG002.claim",
            "ranks cannot reach the store at {host}:{port}",
            host=named.host,
            port=named.port,
        )
    return say("CFG002.claim_unknown", "ranks cannot reach the store, or not all nodes joined")
