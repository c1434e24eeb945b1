"""One rank kept printing about its work while the others waited.

## What it finds
A single rank that did not give up waiting, and whose own lines continue while the others wait in
one call: a line that is later than the first time-out, or that lies well within the time that the
others waited, or long after the last words of all the others.

## Why it hangs
A collective completes only when every rank has issued it. A rank that prints about other work while
the others wait for it has not issued it yet.

## When it stays quiet
When several ranks go on, when the last line of the rank says that it waits, when a thread may print
it periodically (`heartbeat`), when a process failed by itself or the job was stopped before, when
the waiters are not all named, and in calls between two ranks. Where a single rank of a job of
unknown size gave up it is a hint.

## How to confirm
Look at the lines of the rank that is named, and at its stack.

## What to do
Read the findings that name the same rank: they say what it was doing. Do not make the others wait
for the work of one rank, or give their group a time limit that covers it.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import CollectiveTimeout, LastLine, LinesDropped
from unhang.model.incident import Call
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import order
from unhang.waitgraph import matching

_LEAST_S = 10.0
_PART = 0.1
"""Of the time that the others waited: what was under way when they began may print a little."""
_SILENT = 0.25
_TWO = 2


@rule("LOC009", "one-rank-went-on", needs={Fact.TIMEOUTS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the only rank that went on."""
    call = next(iter(incident.calls), None)
    alarm = order.first_timeout(incident)
    if call is None or alarm is None or len(incident.calls) > 1 or call.unnamed:
        return
    if not call.joined or call.ops & matching.POINT_TO_POINT or order.stops(incident):
        return
    if order.decisive_failure_not_after(incident, alarm) is not None:
        return
    gave_up = incident.gave_up
    lines = [e for e in incident.all(LastLine) if e.origin.rank is not None]
    waiters = [e for e in lines if e.origin.rank in gave_up]
    on = [e for e in lines if e.origin.rank not in gave_up and _on(e, alarm, waiters)]
    ranks = frozenset(e.origin.rank for e in on if e.origin.rank is not None)
    if len(ranks) != 1 or on[-1].waits_by_its_words:
        return
    size = incident.world.size
    whole = size is not None and len(ranks | call.joined) == size
    sure = whole or (len(call.joined) >= _TWO and not incident.all(LinesDropped))
    yield check.finding(
        Strength.SUPPORTS if sure else Strength.HINTS,
        claim=say(
            "LOC009.claim",
            "{ranks:ranks} went on with other work while {waiters:ranks} waited in {op:ops}.",
            ranks=ranks,
            waiters=call.joined,
            op=_op(call),
        ),
        why=say(
            "LOC009.why",
            "A collective completes only when every rank has issued it; {ranks:ranks} printed of"
            " its own work while the others waited.",
            ranks=ranks,
        ),
        against=None
        if sure
        else say("LOC009.against", "The other ranks are not known: several may have continued."),
        culprits=ranks,
        at=alarm.at,
        call=call,
        evidence=[on[-1], alarm],
    )


def _op(call: Call) -> str:
    return next((side.op for side in call.sides if side.op is not None), "a collective")


def _on(line: LastLine, alarm: CollectiveTimeout, waiters: Sequence[LastLine]) -> bool:
    """Whether a line lies within the wait of the others, of whom these are the last lines."""
    waited = (alarm.elapsed_ms or alarm.timeout_ms or 0) / 1_000
    if waited < _LEAST_S:
        return False
    before = order.gap_s(alarm, line)
    if before is not None:
        return before < waited - max(_LEAST_S, _PART * waited)
    if order.is_before(alarm, line):
        return True
    others = [gap for other in waiters if (gap := order.gap_s(line, other)) is not None]
    return len(others) >= _TWO and min(others) > max(_LEAST_S, _SILENT * waited)
