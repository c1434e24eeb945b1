"""Gloo or NCCL received more bytes than the rank expected.

## What it finds
Gloo's `op.preamble.length <= op.nbytes`, and NCCL's `collective mismatch error`.

## Why it hangs
A peer sent more than this rank asked for: the two are in different collectives, or in one
collective with tensors of different sizes. Gloo aborts the process at once, most often one that is
not to blame. In a watched run the last calls of the ranks outlive them: who had come to another one
than all others, by its number, place or size, is named.

## When it stays quiet
It only supports when NCCL says it: different NCCL settings on the ranks (buffer sizes, number of
channels, versions) give the same message. It is weaker when a rank had failed before.

## How to confirm
Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`. For NCCL compare the environment of all ranks too.

## What to do
Find the branch or the shape that depends on the rank. Make the environment equal on all nodes.

## References
`gloo/transport/tcp/pair.cc`; NVIDIA/nccl `src/transport/net_ib.cc` up to 2.19.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import (
    GlooFault,
    GlooProblem,
    HoldUp,
    NcclFailure,
    NcclReason,
    SuspicionReason,
)
from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import consequences, rivals
from unhang.rules.shared.watched import message


@rule(
    "DSY007",
    "received-more-than-expected",
    cause=Cause.DESYNC,
    needs={Fact.GLOO, Fact.NCCL_WARNINGS},
    explains=consequences.OF_RANKS_OUT_OF_STEP,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first message of each library."""
    gloo = [e for e in incident.all(GlooFault) if e.problem is GlooProblem.SIZE_MISMATCH]
    if gloo:
        yield _finding(
            incident,
            gloo,
            Strength.PROVES,
            say("DSY007.claim_gloo", "A Gloo peer sent more bytes than the rank expected."),
        )
    nccl = [e for e in incident.all(NcclFailure) if e.reason is NcclReason.SIZE_MISMATCH]
    if nccl:
        yield _finding(
            incident,
            nccl,
            Strength.SUPPORTS,
            say(
                "DSY007.claim_nccl",
                "An NCCL peer sent a different number of bytes than the rank expected.",
            ),
        )


def _finding(
    incident: Incident,
    events: list[GlooFault] | list[NcclFailure],
    strength: Strength,
    claim: Message,
) -> Finding:
    weight = rivals.weigh(incident, events[0], strength)
    settings = (
        None
        if strength is Strength.PROVES
        else say(
            "DSY007.against_settings",
            "Different NCCL settings or versions on the ranks give the same message.",
        )
    )
    told = (e for e in incident.all(HoldUp) if e.charge is SuspicionReason.MISMATCH)
    odd = next((e for e in told if e.move and not e.due and e.culprits), None)
    why = say(
        "DSY007.why", "Two ranks are in different collectives, or in one with different sizes."
    )
    if odd is not None:
        why = message(
            say(
                "DSY007.why_odd",
                "The last call of all others was {move}; {ranks:ranks} had come to another one.",
            ),
            odd,
        )
    return check.finding(
        weight.strength,
        claim=claim,
        why=why,
        against=weight.against or settings,
        culprits=NO_RANKS if odd is None else odd.culprits,
        at=events[0].at,
        evidence=[*events, *([] if odd is None else [odd])],
    )
