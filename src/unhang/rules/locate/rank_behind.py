"""Some ranks of a process group had not issued a collective that the others wait in.

## What it finds
A stuck call that ranks of its group had not issued: their counters are below its number, or they
are the few that wait in an earlier one.

## Why it hangs
A collective completes only when every rank of its process group has issued it. The ranks that
joined wait until the watchdog ends them. Why the rank behind is missing (it raised, it was still
saving, it took another branch) is left to the cause rules.

## When it stays quiet
Ranks without any counter are silent, not absent. Ranks behind that wait in a call of another group
are held up themselves. Ranks that wait in an earlier broadcast, scatter, gather or reduction are
not behind: the root rightly runs ahead of them. Where as many ranks wait
in the earlier call as in the later one, nothing tells which are out of step.

## How to confirm
Look at the stack of the rank behind at the time of the hang. Code under `if rank == 0:` and loops
of unequal length are the usual places.

## What to do
Read the findings that name the same rank. If there are none: make every rank issue the
collective, or move it out of the branch.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`: "last enqueued work".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Call
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.model.waits import WitnessKind, ranks_of_ends
from unhang.waitgraph import matching


@rule("LOC001", "rank-behind-its-group", needs={Fact.TIMEOUTS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first call that observed ranks had not issued."""
    found = incident.analysis(WitnessKind.LOG)
    ends = ranks_of_ends(found.ends)
    groups = matching.Groups(incident.calls, incident.timeouts)
    for call, wait in zip(incident.calls, found.waits, strict=False):
        if call.seq is None or call.ops & matching.POINT_TO_POINT or not groups.is_one(call):
            continue
        counted = wait.awaited & ends  # who waits in another group is held up, too
        waiting = _behind_in_earlier_calls(call, groups.of(call))
        if counted:
            yield _finding(call, counted, Strength.PROVES)
            return
        if waiting and len(waiting) < len(call.joined):
            yield _finding(call, waiting, Strength.SUPPORTS)
            return


def _behind_in_earlier_calls(call: Call, calls: Sequence[Call]) -> Ranks:
    """Ranks that wait in an earlier call of the group, unless its root may have gone on."""
    behind: set[Rank] = set()
    for other in calls:
        if other.seq is None or call.seq is None or other.seq >= call.seq:
            continue
        if other.ops & (matching.ROOTED | matching.POINT_TO_POINT):
            return frozenset()
        behind |= other.joined
    return frozenset(behind)


def _finding(call: Call, behind: Ranks, strength: Strength) -> Finding:
    first = call.first
    assert first is not None
    return check.finding(
        strength,
        claim=say(
            "LOC001.claim",
            "{ranks:ranks} had not issued {op:ops} number {seq}, which the others wait in.",
            ranks=behind,
            op=first.op or "a collective",
            seq=call.seq,
        ),
        why=say(
            "LOC001.why",
            "A collective completes only when every rank of its group has issued it;"
            " {waiters:ranks} did.",
            waiters=call.joined,
        ),
        culprits=behind,
        at=first.at,
        call=call,
        evidence=call.sides,
    )
