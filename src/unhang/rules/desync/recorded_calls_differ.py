"""The dumps show different calls under one sequence number of one group.

## What it finds
Flight Recorder dumps in which members of a process group issued different operations, or one
operation with different numbers of elements or types, under the same number.

## Why it hangs
A collective is paired by its order alone. What does not belong together never completes, or
completes with the wrong data and leaves the ranks out of step.

## When it stays quiet
For sizes that may differ: all-to-all, the root of a gather, shapes with equal numbers of elements.
For a difference that many equal calls followed. Where as many ranks issued the one as the other,
and sister groups do not tell, it names nobody.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`, or compare the stacks of the two calls in the dumps.

## What to do
Find what the odd ranks did differently just before this number: a branch, a batch, a module.

## References
`torch/csrc/distributed/c10d/FlightRecorder.hpp`: `collective_seq_id`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.model.standstill import Aspect, Difference
from unhang.rules import recorded
from unhang.rules.desync import rivals

_KEYS = {
    Aspect.OPERATION: "DSY101.claim_operation",
    Aspect.SIZE: "DSY101.claim_size",
    Aspect.TYPE: "DSY101.claim_type",
}
_PAIR_KEYS = {
    Aspect.SIZE: "DSY101.claim_size_pair",
    Aspect.TYPE: "DSY101.claim_type_pair",
}


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each group whose calls differ."""
    for difference in () if incident.recorded is None else incident.recorded.differences:
        most, other = difference.camps[0], difference.camps[1]
        strength = Strength.SUPPORTS if _may_be_a_shorter_loop(difference) else Strength.PROVES
        strength, against = recorded.weigh(incident, difference.odd, strength)
        yield Finding(
            rule=RULE.code,
            cause=Cause.DESYNC,
            strength=strength,
            claim=Message(
                key=(_KEYS if difference.seq is not None else _PAIR_KEYS)[difference.aspect],
                values={
                    "seq": difference.seq,
                    "group": recorded.group_name(difference.group, difference.description),
                    "most": most.ranks,
                    "other": other.ranks,
                    "op": most.kind.op,
                    "other_op": other.kind.op,
                    "size": sum(most.kind.inputs or most.kind.outputs),
                    "other_size": sum(other.kind.inputs or other.kind.outputs),
                    "type": frozenset(most.kind.dtypes),
                    "other_type": frozenset(other.kind.dtypes),
                },
            ),
            why=_why(difference),
            against=against,
            culprits=difference.odd,
            explains=rivals.ECHOES,
            call=difference.call,
            evidence=(other.source, most.source),
        )


def _may_be_a_shorter_loop(difference: Difference) -> bool:
    return difference.ended and difference.camps[1].kind.op == "barrier"


def _why(difference: Difference) -> Message:
    if difference.shift:
        more = "DSY101.why_left_out" if difference.shift > 0 else "DSY101.why_too_many"
        return Message(key=more, values={"ranks": difference.odd, "count": abs(difference.shift)})
    if not difference.odd:
        return Message(key="DSY101.why_tied")
    if difference.seq is None:
        return Message(key="DSY101.why_pair", values={"ranks": difference.odd})
    return Message(key="DSY101.why", values={"ranks": difference.odd})


RULE = Rule(
    code="DSY101",
    name="recorded-calls-differ",
    cause=Cause.DESYNC,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.DUMPS}),
    check=check,
)
