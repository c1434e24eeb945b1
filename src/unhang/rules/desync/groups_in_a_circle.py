"""Two process groups wait for each other.

## What it finds
Stuck calls of two groups, where a rank that waits in the first has not issued the second, and a
rank that waits in the second has not issued the first.

## Why it hangs
Each group's call waits for a rank that the other group's call holds. Ranks that are members of
several groups (tensor, pipeline, expert and data parallelism) must issue the calls of these groups
in one order on all ranks.

## When it stays quiet
Without counters that show both sides. It is a hint only when two groups are stuck and share
waiting ranks: one of them may merely be the other's consequence.

## How to confirm
Flight Recorder dumps of all ranks show, per group, who issued which call last.

## What to do
Issue the groups' collectives in one order on every rank; keep one communicator on one stream;
with NCCL before 2.26 do not run two communicators of one device at a time
(`CUDA_DEVICE_MAX_CONNECTIONS=1`, blocking launches).

## References
NCCL user guide, "Using multiple NCCL communicators concurrently".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.ids import Rank
from unhang.model.incident import Call
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.model.waits import WitnessKind
from unhang.rules.shared import consequences, rivals
from unhang.waitgraph import matching


@rule(
    "DSY010",
    "groups-wait-for-each-other",
    cause=Cause.PG_DEADLOCK,
    needs={Fact.STATUS},
    status=Status.PREVIEW,
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first pair of groups that wait for each other."""
    named = [c for c in incident.calls if c.group is not None and c.group.guid is not None]
    pairs = list(_sharing(named))
    for cycle in incident.analysis(WitnessKind.LOG).cycles:
        keys = {(wait.call.group, wait.call.seq) for wait in cycle.waits}
        for one, other in pairs:
            if _key(one) in keys and _key(other) in keys:
                yield _finding(incident, one, other, Strength.PROVES)
                return
    for one, other in pairs:
        if one.joined & other.joined:
            yield _finding(incident, one, other, Strength.HINTS)
            return


def _sharing(calls: Sequence[Call]) -> Iterator[tuple[Call, Call]]:
    """Pairs of calls of two groups in which the same ranks wait or are awaited, in order."""
    of_rank: dict[Rank, list[int]] = {}
    for place, call in enumerate(calls):
        for rank in call.joined | call.absent:
            of_rank.setdefault(rank, []).append(place)
    for place, call in enumerate(calls):
        for other in sorted({p for r in call.joined for p in of_rank[r] if p > place}):
            if not matching.are_of_one_group(call, calls[other]):
                yield call, calls[other]


def _finding(incident: Incident, one: Call, other: Call, strength: Strength) -> Finding:
    sides = [*one.sides, *other.sides]
    weight = rivals.weigh(incident, sides[0], strength)
    against = (
        say("DSY010.against_overlap", "One of the two may merely be the consequence of the other.")
        if strength is Strength.HINTS
        else None
    )
    return check.finding(
        weight.strength,
        claim=say(
            "DSY010.claim",
            "{ranks:ranks} wait in group {group} and {others:ranks} in group {other_group} at"
            " the same time.",
            ranks=one.joined,
            others=other.joined,
            group=_name(one),
            other_group=_name(other),
        ),
        why=say(
            "DSY010.why",
            "Groups that share ranks must issue their collectives in one order on all ranks,"
            " otherwise each waits for a rank that the other one holds.",
        ),
        against=weight.against or against,
        at=sides[0].at,
        call=one,
        evidence=sides,
    )


def _key(call: Call) -> tuple[str | None, int | None]:
    return None if call.group is None else call.group.guid, call.seq


def _name(call: Call) -> str:
    assert call.group is not None
    return call.group.description or str(call.group.guid)
