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
and neither sister groups nor the earlier calls tell, it names nobody. Their order, and that one
never came from its place before, support only: it may be right, if the others have left it out.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`, or compare the stacks of the two calls in the dumps.

## What to do
Find what the odd ranks did differently just before this number: a branch, a batch, a module.

## References
`torch/csrc/distributed/c10d/FlightRecorder.hpp`: `collective_seq_id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.model.waits import Aspect, Mismatch
from unhang.rules.shared import consequences, recorded

_CLAIMS = {
    Aspect.OPERATION: say(
        "DSY101.claim_operation",
        "Under number {seq} of group {group} {other:ranks} issued {other_op} and {most:ranks}"
        " {op}.",
    ),
    Aspect.SIZE: say(
        "DSY101.claim_size",
        "Under number {seq} of group {group} {other:ranks} issued {op} of {other_size}"
        " elements and {most:ranks} of {size}.",
    ),
    Aspect.TYPE: say(
        "DSY101.claim_type",
        "Under number {seq} of group {group} {other:ranks} issued {op} of type"
        " {other_type:ops} and {most:ranks} of {type:ops}.",
    ),
}
_PAIR_CLAIMS = {
    Aspect.SIZE: say(
        "DSY101.claim_size_pair",
        "{most:ranks} sent {size} elements of group {group} to {other:ranks}, which was to"
        " receive {other_size}.",
    ),
    Aspect.TYPE: say(
        "DSY101.claim_type_pair",
        "{most:ranks} sent {type:ops} in group {group} to {other:ranks}, which was to receive"
        " {other_type:ops}.",
    ),
}


_TWO = 2


@rule(
    "DSY101",
    "recorded-calls-differ",
    cause=Cause.DESYNC,
    needs={Fact.DUMPS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each group whose calls differ."""
    found = () if incident.recorded is None else incident.recorded.analysis.mismatches
    for difference in map(_weighed, found):
        most, other = difference.variants[0], difference.variants[1]
        open_ = difference.by_rhythm or recorded.may_be_a_shorter_loop(incident, difference)
        strength = Strength.SUPPORTS if open_ else Strength.PROVES
        strength, against = recorded.weigh(incident, difference.odd, strength)
        if difference.by_rhythm:
            against = against or say(
                "DSY101.against_rhythm",
                "If the call of {ranks:ranks} was due all the same, the others have left it out.",
                ranks=difference.odd,
            )
        yield check.finding(
            strength,
            claim=(_CLAIMS if difference.call.seq is not None else _PAIR_CLAIMS)[
                difference.aspect
            ].using(
                seq=difference.call.seq,
                group=recorded.group_name(difference.call),
                most=most.ranks,
                other=other.ranks,
                op=most.kind.op,
                other_op=other.kind.op,
                size=sum(most.kind.inputs or most.kind.outputs),
                other_size=sum(other.kind.inputs or other.kind.outputs),
                type=frozenset(most.kind.dtypes),
                other_type=frozenset(other.kind.dtypes),
            ),
            why=_why(difference),
            against=against,
            culprits=difference.odd,
            call=recorded.mismatched_call(difference),
            evidence=recorded.sources((other, most)),
        )


def _weighed(found: Mismatch) -> Mismatch:
    """A difference; of as many on both sides, those are odd that never called from there before."""
    new = [one for one in found.variants if one.last is not None and one.last.is_new]
    if found.odd or len(new) != 1 or len(found.variants) != _TWO:
        return found
    others = (one for one in found.variants if one is not new[0])
    return replace(found, variants=(*others, *new), odd=new[0].ranks, by_rhythm=True)


def _why(difference: Mismatch) -> Message:
    if difference.shift:
        more = (
            say(
                "DSY101.why_left_out",
                "The later calls of {ranks:ranks} are those that the others issued {count} later:"
                " {count} {count:|call was|calls were} left out.",
            )
            if difference.shift > 0
            else say(
                "DSY101.why_too_many",
                "The later calls of {ranks:ranks} are those that the others issued {count}"
                " earlier: {count} {count:|call was|calls were} too many.",
            )
        )
        return more.using(ranks=difference.odd, count=abs(difference.shift))
    if not difference.odd:
        return say(
            "DSY101.why_tied",
            "Collectives are paired by their number alone; as many ranks issued the one as the"
            " other.",
        )
    if difference.by_rhythm and (last := difference.variants[1].last) and last.is_new:
        return say(
            "DSY101.why_new",
            "As many ranks issued the one as the other, but none of the earlier calls of"
            " {ranks:ranks} came from `{place}`.",
            ranks=difference.odd,
            place=recorded.place(last) or "?",
        )
    if difference.by_rhythm:
        return say(
            "DSY101.why_rhythm",
            "As many ranks issued the one as the other, but on the earlier calls always"
            " {op} followed.",
            op=difference.variants[0].kind.op,
        )
    if difference.call.seq is None:
        return say(
            "DSY101.why_pair",
            "A send meets the next receive from its rank, whatever its size; what"
            " {ranks:ranks} issued is not what is usually passed on in this group.",
            ranks=difference.odd,
        )
    return say(
        "DSY101.why",
        "Collectives are paired by their number alone; most ranks agree, {ranks:ranks} took"
        " another path.",
        ranks=difference.odd,
    )
