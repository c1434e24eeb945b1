"""The job lost a node.

## What it finds
A scheduler or Ray that reports a failed node; or an elastic agent whose keep-alive messages
stopped.

## Why it hangs
All ranks of the node are gone at once, without a word. The ranks of the other nodes wait in their
next collective.

## When it stays quiet
Missing keep-alive messages alone are a hint: an agent also falls silent because its job crashed,
or because the network is down; they tell more of a node that the others missed before anything
else went wrong. When the job had failed before, the report is only an echo. When the node's ranks
were then started on other hosts, the job got over it, and what is wrong now is something else.

## How to confirm
`scontrol show node NODE`, `last -x reboot`, the node's BMC log; for Kubernetes
`kubectl get events`.

## What to do
Exclude the node and restart from the last checkpoint. Elastic launches (`--nnodes MIN:MAX`)
continue without it.

## References
`torch.distributed.elastic.rendezvous.dynamic_rendezvous` (keep-alive); `slurm.conf`, SlurmdTimeout.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StopKind, StopSeen, StoreFault, StoreProblem, WorldSeen
from unhang.model.host_lists import short_host
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order, speakers


@rule(
    "CRA004",
    "node-lost",
    cause=Cause.RANK_CRASH,
    needs={Fact.STOPS, Fact.STORE},
    explains=consequences.OF_A_LOST_RANK | {Cause.HOST_OOM},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first report of a lost node."""
    failed = [s for s in incident.all(StopSeen) if s.kind is StopKind.NODE_FAILED]
    silent = [f for f in incident.all(StoreFault) if f.problem is StoreProblem.NODE_LOST]
    reported = order.earliest(failed)
    first: StopSeen | StoreFault | None = reported or order.earliest(silent)
    if first is None:
        return
    earlier = order.decisive_failure_before(incident, first)
    told = next((s for s in order.stops(incident) if _is_why(s, first)), None)
    host = first.origin.host if isinstance(first, StopSeen) else first.host
    culprits = NO_RANKS if host is None else _ranks_of_node(incident, first, host)
    replaced = host is not None and _are_elsewhere(incident, culprits, first, host)
    sure = reported is not None and earlier is None and told is None and not replaced
    # Who is missed by the others before anything else went wrong did not fall silent by that.
    alone = host is not None and earlier is None and told is None and not replaced
    missed = alone and _went_first(incident, first)
    strength = Strength.PROVES if sure else Strength.SUPPORTS if missed else Strength.HINTS
    yield check.finding(
        strength,
        claim=say("CRA004.claim", "host {host} was lost", host=host or "")
        if host is not None
        else say("CRA004.claim_nobody", "the job lost a node"),
        why=say(
            "CRA004.why",
            "All ranks of a lost node are gone at once, and the other nodes wait for them.",
        ),
        against=None
        if sure
        else say("CRA004.against_told", "it had been told to stop: its end is only an echo")
        if told is not None
        else say(
            "CRA004.against_replaced", "its ranks were started again on other hosts afterwards"
        )
        if replaced
        else say(
            "CRA004.against",
            "an agent also falls silent after a failure of its job, or when the network is down",
        ),
        culprits=culprits,
        culprit_hosts=frozenset() if host is None else frozenset({host}),
        at=first.at,
        evidence=[first],
    )


_NEAR = 3
"""Lines of one report of a lost node: its reason may stand below."""


def _is_why(stop: StopSeen, lost: StopSeen | StoreFault) -> bool:
    """Whether the node was stopped before it was missed, or its report goes on to say so."""
    if order.is_before(lost, stop) is not True:
        return True
    gap = (stop.source.line or 0) - (lost.source.line or 0)
    below = stop.source.artifact == lost.source.artifact and 0 <= gap <= _NEAR
    return below and stop.at is None


def _ranks_of_node(incident: Incident, lost: StopSeen | StoreFault, host: str) -> Ranks:
    """The ranks of a host; else those of the one node that is left when others speak afterwards."""
    found = speakers.ranks_on(incident, {host})
    spoke = frozenset(
        e.origin.rank
        for e in incident.events
        if e.origin.rank is not None and order.is_before(lost, e) is True
    ) | (incident.gave_up if order.first_timeout(incident) is not None else NO_RANKS)
    world = incident.world.ranks
    return found or (NO_RANKS if world is None else speakers.node_beside(world, spoke))


def _are_elsewhere(
    incident: Incident, ranks: Ranks, lost: StopSeen | StoreFault, host: str
) -> bool:
    """Whether all ranks of a lost host are told to be processes of other hosts afterwards."""
    later = {
        seen.rank
        for seen in incident.all(WorldSeen)
        if seen.host is not None
        and short_host(seen.host) != short_host(host)
        and order.is_before(lost, seen) is True
    }
    return len(ranks) > 0 and ranks <= later


def _went_first(incident: Incident, lost: StopSeen | StoreFault) -> bool:
    """Whether the ranks that are left timed out afterwards, and nothing had failed before."""
    waited = any(order.is_before(lost, timeout) for timeout in incident.timeouts)
    return waited and order.trouble_before(incident, lost) is None
