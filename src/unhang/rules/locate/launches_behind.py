"""NCCL's RAS counts fewer launched operations on some ranks of a communicator than on the others.

## What it finds
"Communicator ranks have different … operation counts", and the ranks with the lower count.

## Why it hangs
Those with the higher count wait in an operation that the others have not launched.

## When it stays quiet
RAS's text lists the minority by name. Where the minority is ahead, those behind are not listed and
nobody is named; nor is a rank that itself waits in another communicator. Sends and receives rightly
differ, and the root of a broadcast rightly runs ahead. A single answer from a job in which no rank
has given up is only a hint: the counts of a healthy job also differ for a moment.

## How to confirm
Ask twice, half a minute apart (`ncclras -v`): counts that do not change mean a hang.

## What to do
Look at the stack of the rank behind.

## References
NCCL user guide, "Troubleshooting: RAS".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import RasGroup, RasReport
from unhang.model.ids import Ranks
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.model.waits import WitnessKind, ranks_of_ends


@rule("LOC205", "fewer-operations-launched", needs={Fact.RAS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding: for the communicator whose ranks behind wait in no other one."""
    found = incident.analysis(WitnessKind.RAS)
    if not found.waits:
        return
    waits = {(wait.call.group, wait.sources[0]): wait for wait in found.waits}
    reports = [r for r in incident.all(RasReport) if (r.comm, r.source) in waits]
    ends = ranks_of_ends(found.ends)
    named = [(report, waits[report.comm, report.source].awaited & ends) for report in reports]
    report, culprits = next((pair for pair in named if pair[1]), named[0])
    yield _finding(incident, report, culprits, asked_twice=_repeated(report, reports))


def _finding(
    incident: Incident, report: RasReport, culprits: Ranks, *, asked_twice: bool
) -> Finding:
    by_count = sorted(report.groups, key=_launched)
    behind, ahead = by_count[0], by_count[-1]
    few_behind = behind.count < sum(g.count for g in by_count[1:])
    alarmed = any(e.gave_up for e in incident.events)
    return check.finding(
        Strength.SUPPORTS if alarmed or asked_twice else Strength.HINTS,
        claim=say(
            "LOC205.claim",
            "{ranks:ranks} launched {op} up to number {done}, {others} other"
            " {others:|rank|ranks} up to {asked}.",
            ranks=culprits,
            others=ahead.count,
            op=report.op or "?",
            done=behind.says,
            asked=ahead.says,
        )
        if culprits
        else say(
            "LOC205.claim_nobody",
            "{count} {count:|rank|ranks} launched {op} up to number {done}, {others}"
            " {others:|rank|ranks} up to {asked}.",
            count=behind.count,
            others=ahead.count,
            op=report.op or "?",
            done=behind.says,
            asked=ahead.says,
        ),
        why=say("LOC205.why", "Those ahead wait in an operation that the others have not launched.")
        if few_behind
        else say(
            "LOC205.why_ahead",
            "RAS lists the few that are ahead; those behind are the many, and not listed"
            " by number.",
        ),
        culprits=culprits,
        at=report.at,
        evidence=[report],
    )


def _launched(group: RasGroup) -> int:
    return int(group.says) if group.says.isdigit() else 0


def _repeated(report: RasReport, reports: list[RasReport]) -> bool:
    """Whether two answers say the same of one communicator."""
    alike = [
        r for r in reports if (r.comm, r.op, r.groups) == (report.comm, report.op, report.groups)
    ]
    return len(alike) > 1
