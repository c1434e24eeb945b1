"""A few ranks do not answer torch's debug server, while the others return their stacks.

## What it finds
Ranks below which a dump of the debug server says `Error: 408` or another status, beside stacks of
most other ranks.

## Why it hangs
A thread of each process answers. A process that does not answer is gone or stopped, or one of its
threads keeps the interpreter lock and never releases it; the others wait for that rank in their
collectives.

## When it stays quiet
Where half of the ranks or more give no answer it is the server or the network. While nobody gave up
waiting, and the others do not wait in a collective, it is a hint.

## How to confirm
`py-spy dump --native -p PID` on that host needs no answer from the process; `/proc/PID/status`
shows whether it is stopped.

## What to do
Look for the thread that keeps the lock, or for why the process is gone.

## References
PyTorch `torch/distributed/debug`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StackRefused
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.model.stack_states import Doing

_EXPIRED = 408


@rule("LOC209", "rank-gives-no-stack", needs={Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that did not answer."""
    refused = incident.all(StackRefused)
    given = frozenset(s.rank for s in incident.stances if s.rank is not None)
    culprits = frozenset(e.origin.rank for e in refused if e.origin.rank is not None) - given
    if not culprits or len(culprits) >= len(given):
        return
    waiting = [s for s in incident.stances if s.doing is Doing.WAITS]
    sure = len(incident.calls) > 0 or 2 * len(waiting) > len(incident.stances)
    expired = all(e.status == _EXPIRED for e in refused)
    yield check.finding(
        Strength.SUPPORTS if sure else Strength.HINTS,
        claim=say(
            "LOC209.claim",
            "{ranks:ranks} {count:|does|do} not answer torch's debug server, while the others "
            "return their stacks.",
            ranks=culprits,
            count=len(culprits),
        ),
        why=say(
            "LOC209.why_expired",
            "A thread of every process answers: this one never gets to it, as when another"
            " thread keeps Python's interpreter lock.",
        )
        if expired
        else say(
            "LOC209.why",
            "A thread of every process answers: this one is gone, or it cannot be reached.",
        ),
        culprits=culprits,
        evidence=refused,
    )
