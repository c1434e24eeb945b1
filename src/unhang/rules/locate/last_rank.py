"""All ranks but one gave up in one call: the remaining one has not issued it.

## What it finds
A call in which every rank gave up, except one. Where the size of the job is unknown, the ranks that
gave up in one log show it: exactly one number among theirs is missing. What the last rank printed
may show that it lives and does not wait: others notified it of the time-out, its launcher ended it
as a healthy process, or it kept printing.

## Why it hangs
A collective completes only when all have issued it. The only rank that is alive and does not wait
has not issued it.

## When it stays quiet
When the size of the job is below three, or unknown and fewer than three gave up, when the ranks
that gave up differ in operation or size (then the calls differ, and nobody is late), when a
launcher dropped lines, when the job was stopped from outside before, when the last rank gave up in
another call, or waits according to its stack. A silent rank is no more than a hint unless three
others gave up in one log: its own words may be lost, or stand in a log that was not given.

## How to confirm
Look at the last lines and at the stack of the rank that is named.

## What to do
Read the findings that name the same rank; look for what only that rank does.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`: each rank's watchdog reports for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from unhang.model.events import CollectiveTimeout, DumpReason, DumpSignal, Event, LinesDropped
from unhang.model.ids import Rank, RankSpans
from unhang.model.incident import Call, Manner
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.model.stack_states import Doing
from unhang.rules.shared import order, speakers
from unhang.waitgraph import matching

_LEAST_WORLD = 3
_MANY = 3
"""So many that gave up in one log make the one that did not conspicuous, though it is silent.

Where each rank has a log of its own, the one that is silent may merely lack one.
"""


@rule("LOC008", "only-rank-that-does-not-wait", needs={Fact.TIMEOUTS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the only rank of the job that did not give up."""
    call = next(iter(incident.calls), None)
    if call is None or call.first is None:
        return
    voices = Counter(side.source.artifact for side in call.sides)
    many = max(voices.values()) >= _MANY
    heard = call.joined | incident.roster.keys()
    counted = RankSpans.below(max(heard) + 1 if many else 0)
    world = incident.world.ranks or counted
    left = world - call.joined
    if (
        len(world) < _LEAST_WORLD
        or len(left) != 1
        or call.unnamed
        or not _is_one_call(incident, call)
    ):
        return
    (last,) = left
    if incident.world.size is None and last > max(call.joined):
        spoke = {e.source.artifact for e in incident.events if e.origin.rank == last}
        if not spoke & voices.keys():
            return  # it is of another node, which may have more ranks
    waits = {s.rank for s in incident.stances if s.doing is Doing.WAITS}
    if last in incident.gave_up | waits or incident.all(LinesDropped):
        return
    alarm = next(event for event in incident.timeouts if event.source == call.first.source)
    if order.stop_before(incident, alarm) is not None:
        return
    life = _sign_of_life(incident, alarm, Rank(last))
    ranks = frozenset({Rank(last)})
    yield check.finding(
        Strength.HINTS if life is None and not many else Strength.SUPPORTS,
        claim=say(
            "LOC008.claim",
            "{ranks:ranks} is the only one of {size} ranks that did not wait in {op:ops}.",
            ranks=ranks,
            size=len(world),
            op=call.first.op or "a collective",
        ),
        why=say(
            "LOC008.why",
            "A collective completes only when every rank has issued it; {waiters:ranks} did.",
            waiters=call.joined,
        ),
        against=say(
            "LOC008.against", "Nothing that it printed shows that it was elsewhere at that time."
        )
        if life is None
        else None,
        culprits=ranks,
        at=call.first.at,
        call=call,
        evidence=[*call.sides, *([] if life is None else [life])],
    )


def _is_one_call(incident: Incident, call: Call) -> bool:
    """Whether all that gave up speak of one call in one form, and of no other."""
    forms = {(side.op, side.numel_in, side.numel_out) for side in call.sides}
    alone = len(incident.calls) == 1 and len(forms) == 1
    return alone and not call.ops & matching.POINT_TO_POINT and not call.ops & matching.ROOTED


def _sign_of_life(incident: Incident, alarm: CollectiveTimeout, rank: Rank) -> Event | None:
    """What the rank printed, or its launcher of it, after the others had begun to give up."""
    for signal in incident.all(DumpSignal):
        if signal.reason is not DumpReason.OWN and speakers.of_dump(signal) == rank:
            return signal
    closed = (f for f in incident.failures if f.rank == rank and f.manner is Manner.CLOSED)
    for failure in closed:
        return failure.events[0]
    later = (e for e in incident.events if e.origin.rank == rank and order.is_before(alarm, e))
    return next(later, None)
