"""Some ranks of a process group had not issued a collective that the others wait in.

## What it finds
A stuck call that ranks of its group had not issued: their counters are below its number, or they
are the few that wait in an earlier one.

## Why it hangs
A collective completes only when every rank of its process group has issued it. The ranks that
joined wait until the watchdog ends them. Why the rank behind stayed away (it raised, it still
saved, it took another branch) is for the cause rules to say.

## When it stays quiet
Ranks without any counter are silent, not absent. Ranks that wait in an earlier broadcast, scatter,
gather or reduction are not behind: the root rightly runs ahead of them. Where as many ranks wait
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

from collections.abc import Iterator

from unhang.model.events import DumpSignal
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Call, Incident
from unhang.model.provenance import say
from unhang.model.rule import Fact, rule
from unhang.rules import matching


@rule("LOC001", "rank-behind-its-group", needs={Fact.TIMEOUTS}, since="0.1.0")
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first call that observed ranks had not issued."""
    for call in incident.calls:
        if call.seq is None or call.ops & matching.POINT_TO_POINT:
            continue
        if not matching.is_one_group(call, incident):
            continue
        counted = _behind_by_counters(incident, call)
        waiting = _behind_in_earlier_calls(incident, call)
        joined = frozenset(rank for rank in call.joined if rank >= Rank(0))
        if counted:
            yield _finding(call, counted, Strength.PROVES)
            return
        if waiting and len(waiting) < len(joined):
            yield _finding(call, waiting, Strength.SUPPORTS)
            return


def _behind_by_counters(incident: Incident, call: Call) -> Ranks:
    """Ranks whose last issued work lies below the call, and that wait in none of its group."""
    stuck = {r for c in incident.calls if matching.are_of_one_group(c, call) for r in c.joined}
    reported = {r for r in call.absent if r not in stuck}
    if call.group is not None and call.group.is_default and call.seq is not None:
        for signal in incident.all(DumpSignal):
            rank = signal.origin.rank
            if signal.group is None or not signal.group.is_default or signal.enqueued is None:
                continue
            if rank is not None and rank not in stuck and 0 <= signal.enqueued < call.seq:
                reported.add(rank)
    return frozenset(reported)


def _behind_in_earlier_calls(incident: Incident, call: Call) -> Ranks:
    """Ranks that wait in an earlier call of the group, unless its root may have gone on."""
    behind: set[Rank] = set()
    for other in incident.calls:
        if other.seq is None or call.seq is None or other.seq >= call.seq:
            continue
        if not matching.are_of_one_group(other, call):
            continue
        if other.ops & (matching.ROOTED | matching.POINT_TO_POINT):
            return frozenset()
        behind.update(rank for rank in other.joined if rank >= Rank(0))
    return frozenset(behind)


def _finding(call: Call, behind: Ranks, strength: Strength) -> Finding:
    first = call.first
    assert first is not None
    return Finding(
        rule=check.code,
        cause=None,
        strength=strength,
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
            waiters=frozenset(r for r in call.joined if r >= Rank(0)),
        ),
        culprits=behind,
        at=first.at,
        call=call,
        evidence=tuple(j.source for j in call.joins.values())[:4],
    )
