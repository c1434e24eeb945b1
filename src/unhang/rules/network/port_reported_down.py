"""ibstat or ibv_devinfo report a port as down, or as slower than the others of its host.

## What it finds
A port that is down, and a port whose rate is below that of the other active ones of its layer.

## Why it hangs
Connections over a port that went down break or wait for their retries; one slow port slows every
collective that uses all of them.

## When it stays quiet
Hosts have ports without a cable: a port that is down is a hint, unless NCCL names that adapter in
an error of this job.

## How to confirm
`ibstat` on a healthy host; `mlxlink -d DEVICE`; the switch's log of the port.

## What to do
Replace cable or transceiver; until then leave the adapter out with `NCCL_IB_HCA=^DEVICE`.

## References
`ibstat(8)`, `ibv_devinfo(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import HostProblem, HostReport, NcclFailure
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import speakers


@rule("NET201", "port-reported-down", cause=Cause.RDMA_FAULT, needs={Fact.HOST_REPORTS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for ports that are down, else one for slow ones."""
    named = {f.hca for f in incident.all(NcclFailure) if f.hca is not None}
    down = [r for r in incident.all(HostReport) if r.problem is HostProblem.PORT_DOWN]
    slow = [r for r in incident.all(HostReport) if r.problem is HostProblem.PORT_SLOW]
    blamed = [r for r in down if r.device in named]
    if blamed:
        yield _finding(blamed, Cause.RDMA_FAULT, Strength.SUPPORTS)
    elif down:
        yield _finding(down, Cause.RDMA_FAULT, Strength.HINTS)
    elif slow:
        yield _finding(slow, Cause.BANDWIDTH_LOW, Strength.HINTS)


def _finding(reports: list[HostReport], cause: Cause, strength: Strength) -> Finding:
    first = reports[0]
    hint = strength is Strength.HINTS
    return check.finding(
        strength,
        cause=cause,
        claim=say(
            "NET201.claim",
            "the port of {device} is unhealthy: {detail}",
            device=first.device or "?",
            detail=first.detail,
        ),
        why=say(
            "NET201.why", "Traffic over such a port breaks, or is slower than over the others."
        ),
        against=say(
            "NET201.against", "Hosts have ports without a cable; nothing in the job names this one."
        )
        if hint
        else None,
        culprit_hosts=frozenset() if hint else speakers.hosts(reports),
        evidence=reports,
    )
