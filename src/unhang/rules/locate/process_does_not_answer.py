"""NCCL's RAS can no longer reach some processes of the job.

## What it finds
"Missing communicator data from … rank", "considered dead (unreachable via the RAS network)", where
they are few and listed.

## Why it hangs
A thread of every process answers RAS, whatever Python does. One that does not answer is gone, is
stopped, or its host cannot be reached; the others wait for it.

## When it stays quiet
Where more processes are missing than answer, it is RAS's own network that fails.

## How to confirm
Look for the process on that host; its own log, and the kernel log of the host.

## What to do
Read the findings on crashes and on the network for that rank and host.

## References
NCCL user guide, "Troubleshooting: RAS".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import RasProblem, RasReport
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import ras


@rule("LOC206", "process-does-not-answer", needs={Fact.RAS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all processes that do not answer."""
    reports = [r for r in incident.all(RasReport) if r.problem is RasProblem.NO_ANSWER]
    if not reports or _most_are_missing(incident, reports):
        return
    culprits = frozenset(
        rank for r in reports for g in r.groups for rank in ras.ranks_of(incident, r, g)
    )
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "LOC206.claim",
            "{ranks:ranks} {count:|does|do} not answer NCCL's RAS.",
            ranks=culprits,
            count=max(map(_count, reports)),
        )
        if culprits
        else say(
            "LOC206.claim_nobody",
            "{count} {count:|process does|processes do} not answer NCCL's RAS.",
            count=max(map(_count, reports)),
        ),
        why=say(
            "LOC206.why",
            "A thread of every process answers, whatever Python does: this one is gone, is"
            " stopped, or its host cannot be reached.",
        ),
        culprits=culprits,
        culprit_hosts=frozenset(h for r in reports for g in r.groups for h in g.hosts),
        at=reports[0].at,
        evidence=reports,
    )


def _most_are_missing(incident: Incident, reports: Sequence[RasReport]) -> bool:
    """As the largest communicator tells: a small one may lie on the lost host as a whole."""
    largest = max(reports, key=lambda r: r.size or incident.world.size or 0)
    size = largest.size or incident.world.size
    return size is not None and 2 * _count(largest) > size


def _count(report: RasReport) -> int:
    return sum(group.count for group in report.groups)
