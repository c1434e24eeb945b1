"""Some ranks still print about their work while the others wait, and their words tell what it is.

## What it finds
Lines of ranks that did not give up, within the time that the others waited, or after it: what they
say or count tells the kind of work. Where the others did the same and had ended it, the work is
uneven.

## Why it hangs
A collective completes only when all have issued it. A rank at other work has not issued it yet.

## When it stays quiet
When ranks that gave up, or that say that they wait, are among those at work; when the last line
says that the work is done; when nothing tells what the work is; when no time and no place shows
that the lines belong to the wait. It is a hint where a process failed first, where the job was
stopped before, and where ranks issued different calls.

## How to confirm
Look at the lines of the ranks that are named, and at their stacks.

## What to do
Do this work on all ranks, or outside of the group's collectives, or give the group that waits a
timeout that covers it. Uneven work: limit the longest item, and split by cost, not by count.

## References
`torch.distributed.init_process_group(timeout=…)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences
from unhang.rules.slow.rank_at_work import CAUSES
from unhang.rules.slow.waiting import find_wait
from unhang.rules.slow.work_strength import find_rival
from unhang.rules.slow.workers import AtWork, find_at_work

_OF_ITEMS = frozenset({Phase.EVAL, Phase.GENERATE, None})
"""Work of many items, which one rank may have more or longer ones of."""


@rule(
    "SLO009",
    "works-on-while-others-wait",
    needs={Fact.PHASES},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that are still at work."""
    found = find_at_work(incident)
    cause = None if found is None else _cause(found)
    if found is None or cause is None:
        return
    wait = find_wait(incident)
    rival = None if wait is None else find_rival(incident, wait)
    detail = " ".join(found.sign.source.text.split())[:100]
    yield check.finding(
        Strength.SUPPORTS,
        cause=cause,
        claim=say(
            "SLO009.claim",
            "{ranks:ranks} {count:|is|are} still at work while the others wait (`{detail}`)",
            ranks=found.ranks,
            count=len(found.ranks),
            detail=detail,
        ),
        why=say(
            "SLO009.why_alike",
            "The others did the same work, and ended it; {ranks:ranks} still prints about it.",
            ranks=found.ranks,
        )
        if cause is Cause.UNEVEN_WORK
        else say(
            "SLO009.why",
            "{ranks:ranks} prints about it while {waiters:ranks} {waiting:|waits|wait}, and no"
            " line says that it ended.",
            ranks=found.ranks,
            waiters=found.waiters,
            waiting=len(found.waiters),
        ),
        rival=rival,
        culprits=found.ranks,
        phase=found.phase,
        explains=consequences.OF_WORK_THAT_LASTS | {Cause.EXTERNAL_STOP},
        at=found.sign.at,
        call=None if wait is None else wait.call,
        evidence=[found.sign, *([] if wait is None else [wait.alarm])],
    )


def _cause(found: AtWork) -> Cause | None:
    """The kind of work, by its words; that others ended the same tells more of work in items."""
    if found.phase in _OF_ITEMS and found.alike:
        return Cause.UNEVEN_WORK
    return None if found.phase is None else CAUSES.get(found.phase)
