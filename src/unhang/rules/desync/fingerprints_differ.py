"""DETAIL mode found ranks that issue different collectives.

## What it finds
`Detected mismatch between collectives on ranks`: other operations, shapes, types or devices.

## Why it hangs
It would: the ranks took different branches, or bring tensors of different shapes. DETAIL mode
compares before each collective and raises instead.

## When it stays quiet
Flat gradients and parameters of different sizes are reported by DSY005. It is only a hint when
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

from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.desync.fingerprints import FingerprintAspect, FingerprintComparison, compare
from unhang.rules.shared import consequences, rivals

_FAR = 8
"""The wrapper's false alarms are one or two numbers apart."""
_CLAIMS = {
    FingerprintAspect.OPERATION: say(
        "DSY004.claim_operation", "{ranks:ranks} issued different operations: {ops:ops}."
    ),
    FingerprintAspect.SHAPE: say(
        "DSY004.claim_shape",
        "{ranks:ranks} issued {ops:ops} with tensors of different shape, type or device.",
    ),
    FingerprintAspect.SEQUENCE: say(
        "DSY004.claim_sequence", "{ranks:ranks} issued {ops:ops} under different sequence numbers."
    ),
    FingerprintAspect.UNSEEN: say(
        "DSY004.claim_unseen",
        "{ranks:ranks} issued {ops:ops} while another rank issued something else.",
    ),
    FingerprintAspect.ELSEWHERE: say(
        "DSY004.claim_elsewhere",
        "{odd:ranks} ran no collective that matches the {ops:ops} of the others.",
    ),
}


@rule(
    "DSY004",
    "fingerprints-differ",
    cause=Cause.DESYNC,
    needs={Fact.FINGERPRINTS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield at most one finding for all mismatches together."""
    found = compare(incident)
    if found is None or found.aspect is FingerprintAspect.PARAMETERS:
        return
    weight = rivals.weigh(incident, found.events[0], _strength(found))
    yield check.finding(
        weight.strength,
        claim=_CLAIMS[found.aspect].using(
            ranks=frozenset(found.sides),
            ops=frozenset(s.op for s in found.sides.values() if s.op is not None),
            odd=found.odd,
        ),
        why=say(
            "DSY004.why",
            "The calls of several ranks were compared with each other, and they are not the same.",
        ),
        against=weight.against or _against(found),
        culprits=found.odd,
        at=found.events[0].at,
        evidence=found.events,
    )


def _strength(found: FingerprintComparison) -> Strength:
    match found.aspect:
        case FingerprintAspect.OPERATION | FingerprintAspect.SHAPE | FingerprintAspect.PARAMETERS:
            return Strength.PROVES
        case FingerprintAspect.UNSEEN:
            return Strength.SUPPORTS
        case FingerprintAspect.SEQUENCE:
            return Strength.HINTS if _may_be_false(found) else Strength.SUPPORTS
        case FingerprintAspect.ELSEWHERE:
            return Strength.HINTS


def _may_be_false(found: FingerprintComparison) -> bool:
    """Barriers whose numbers lie close together."""
    numbers = [side.seq for side in found.sides.values() if side.seq is not None]
    only_barriers = {side.op for side in found.sides.values()} == {"BARRIER"}
    return only_barriers and max(numbers, default=0) - min(numbers, default=0) < _FAR


def _against(found: FingerprintComparison) -> Message | None:
    if found.aspect is FingerprintAspect.ELSEWHERE:
        return say(
            "DSY004.against_elsewhere",
            "An empty fingerprint says only that the rank was elsewhere: it may be late, or gone.",
        )
    if found.aspect is FingerprintAspect.SEQUENCE and _may_be_false(found):
        return say(
            "DSY004.against_barrier",
            "The wrapper sometimes reports barriers with different numbers although nothing is"
            " wrong.",
        )
    return None
