"""NCCL's RAS finds ranks of one communicator in different states.

## What it finds
"Communicator ranks have different status": a few ranks that have left the communicator
(`FINALIZE`), are still making it (`INIT`) or know nothing of it (`NOCOMM`), while the others are
`RUNNING`.

## Why it hangs
Those that run wait in an operation that a rank which has left will never launch: it ended its loop
earlier, or ended altogether. One that is still in the set-up has not begun.

## When it stays quiet
`ABORT` is what a watchdog does to a rank that waited, so nobody is named for it. Where those that
run are the minority the job is starting or ending. A single answer from a job in which no rank has
given up is a hint: ranks do not start and end at the same moment.

## How to confirm
Ask twice (`ncclras -v`); look at the stack of the rank that left.

## What to do
Look for a loop with fewer steps on that rank, or for an early return.

## References
NCCL user guide, "Troubleshooting: RAS".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import RasGroup, RasProblem, RasReport
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import ras

_RUNS = "RUNNING"
_ABORTED = "ABORT"


@rule("LOC210", "communicator-states-differ", needs={Fact.RAS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first communicator in which few are not running."""
    for report in incident.all(RasReport):
        if report.problem is not RasProblem.STATUS_DIFFERS:
            continue
        running = sum(g.count for g in report.groups if g.says == _RUNS)
        apart = [g for g in report.groups if g.says not in {_RUNS, _ABORTED}]
        if apart and 2 * sum(g.count for g in apart) < running:
            yield _finding(incident, report, apart[0], running)
            return


def _finding(incident: Incident, report: RasReport, apart: RasGroup, running: int) -> Finding:
    alarmed = any(e.gave_up for e in incident.events)
    ranks: Ranks = ras.ranks_of(incident, report, apart) or NO_RANKS
    return check.finding(
        Strength.SUPPORTS if alarmed else Strength.HINTS,
        claim=say(
            "LOC210.claim",
            "NCCL's RAS finds {ranks:ranks} in state {status}, while {others}"
            " {others:|rank is|ranks are} running.",
            ranks=ranks,
            status=apart.says,
            others=running,
        )
        if ranks
        else say(
            "LOC210.claim_nobody",
            "NCCL's RAS finds {count} {count:|rank|ranks} in state {status}, while"
            " {others} {others:|rank is|ranks are} running.",
            count=apart.count,
            status=apart.says,
            others=running,
        ),
        why=say(
            "LOC210.why_left",
            "A rank that has exited launches nothing more; the running ones wait for it.",
        )
        if apart.says == "FINALIZE"
        else say(
            "LOC210.why",
            "A rank that has not joined launches nothing; those that run wait for it.",
        ),
        culprits=ranks,
        at=report.at,
        evidence=[report],
    )
