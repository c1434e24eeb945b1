"""DETAIL mode found ranks that issue different collectives.

## What it finds
`Detected mismatch between collectives on ranks`: other operations, shapes, types or devices.

## Why it hangs
It would: the ranks took different branches, or bring tensors of different shapes. DETAIL mode
compares before each collective and raises instead.

## When it stays quiet
Flat gradients and parameters of different sizes are told by DSY005. It is only a hint when
the other rank runs no comparable collective (an empty fingerprint), and when both sides are
barriers with different numbers, which the wrapper reports falsely at times; numbers far apart are
none of these. Without the other side in the log it supports and names nobody.

## How to confirm
The traceback above the message shows the Python line of this rank; look for the one of the other.

## What to do
Make every rank take the same branch with the same shapes: pad, gather lengths first, log the same
keys on every rank.

## References
`torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.rules.desync import rivals
from unhang.rules.desync.fingerprints import Aspect, Comparison, compare

_FAR = 8
"""The wrapper's false alarms are one or two numbers apart."""


def check(incident: Incident) -> Iterator[Finding]:
    """Yield at most one finding for all mismatches together."""
    found = compare(incident)
    if found is None or found.aspect is Aspect.PARAMETERS:
        return
    weight = rivals.weigh(incident, found.events[0], _strength(found))
    yield Finding(
        rule=RULE.code,
        cause=Cause.DESYNC,
        strength=weight.strength,
        claim=Message(
            key=f"DSY004.claim_{found.aspect.value}",
            values={
                "ranks": frozenset(found.sides),
                "ops": frozenset(s.op for s in found.sides.values() if s.op is not None),
                "odd": found.odd,
            },
        ),
        why=Message(key="DSY004.why"),
        against=weight.against or _against(found),
        culprits=found.odd,
        explains=rivals.ECHOES,
        at=found.events[0].at,
        evidence=tuple(e.source for e in found.events)[:4],
    )


def _strength(found: Comparison) -> Strength:
    match found.aspect:
        case Aspect.OPERATION | Aspect.SHAPE | Aspect.PARAMETERS:
            return Strength.PROVES
        case Aspect.UNSEEN:
            return Strength.SUPPORTS
        case Aspect.SEQUENCE:
            return Strength.HINTS if _may_be_false(found) else Strength.SUPPORTS
        case Aspect.ELSEWHERE:
            return Strength.HINTS


def _may_be_false(found: Comparison) -> bool:
    """Barriers whose numbers lie close together."""
    numbers = [side.seq for side in found.sides.values() if side.seq is not None]
    only_barriers = {side.op for side in found.sides.values()} == {"BARRIER"}
    return only_barriers and max(numbers, default=0) - min(numbers, default=0) < _FAR


def _against(found: Comparison) -> Message | None:
    if found.aspect is Aspect.ELSEWHERE:
        return Message(key="DSY004.against_elsewhere")
    if found.aspect is Aspect.SEQUENCE and _may_be_false(found):
        return Message(key="DSY004.against_barrier")
    return None


RULE = Rule(
    code="DSY004",
    name="fingerprints-differ",
    cause=Cause.DESYNC,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.FINGERPRINTS}),
    check=check,
)
