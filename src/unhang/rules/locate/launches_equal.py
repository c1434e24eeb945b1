"""NCCL's RAS finds all ranks alike while a collective waits.

## What it finds
An answer of RAS in which every communicator is `RUNNING` and `OK`, beside a collective that timed
out: all ranks have launched the same number of operations.

## Why it hangs
It does not say. A rank that leaves out a call has launched fewer operations than the others, and
RAS would count a mismatch. Where it counts none, all have launched the call and the GPUs or the
network do not finish it; or the group that waits has not made its communicator, which RAS does not
list then.

## When it stays quiet
When the answer was taken before the call began. It is a remark on what the other sources say, never
a verdict: RAS counts launches, not completions, and only those of communicators that exist.

## How to confirm
Ask again while the job hangs: `ncclras -v`, and look at the ranks' kernels
(`py-spy dump --native`, `nvidia-smi`): GPUs at 100 % with equal counts are in the same kernel.

## What to do
Look at the network and the GPUs, not for a branch that one rank did not take.

## References
NCCL user guide, "Troubleshooting: RAS"; NVIDIA/nccl#1730.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import CollectiveTimeout, RasProblem, RasReport
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say


@rule("LOC207", "launches-equal-while-a-call-waits", needs={Fact.RAS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one remark where an answer that finds nothing may be of the time of the hang."""
    reports = incident.all(RasReport)
    well = [r for r in reports if r.problem is RasProblem.NONE]
    timeouts = incident.timeouts
    if not well or not timeouts or len(well) < len(reports):
        return
    report = next((r for r in well if not _taken_before(r, timeouts[0])), None)
    if report is None:
        return
    yield check.finding(
        Strength.HINTS,
        claim=say(
            "LOC207.claim",
            "NCCL's RAS counts the same launched operations on all {count} ranks, while {op}"
            " waits.",
            count=report.size or 0,
            op=timeouts[0].op or "a call",
        ),
        why=say(
            "LOC207.why",
            "As far as RAS sees, no rank has left out a call: either the GPUs or the network"
            " do not finish it, or the group that waits has no communicator yet.",
        ),
        against=None
        if report.at is not None
        else say(
            "LOC207.against",
            "RAS counts launches, not completions; the answer carries no time, so it may "
            "describe another moment.",
        ),
        at=report.at,
        evidence=[report, timeouts[0]],
    )


def _taken_before(report: RasReport, timeout: CollectiveTimeout) -> bool:
    """Whether RAS was asked when the call had not begun, as far as times tell."""
    if report.at is None or timeout.at is None or timeout.elapsed_ms is None:
        return False
    before_s = timeout.at.since(report.at)
    return before_s is not None and before_s > timeout.elapsed_ms / 1_000
