"""A rank asked for a GPU that does not exist, or that another process uses exclusively.

## What it finds
"invalid device ordinal" and "device(s) is/are busy or unavailable", from CUDA or through NCCL.

## Why it hangs
The rank raises when it chooses its device; the others wait for it in the first collective. There
are more processes than visible GPUs, `CUDA_VISIBLE_DEVICES` was narrowed for a process that still
uses its local rank as an index, or a GPU is in exclusive mode.

## When it stays quiet
After a lost rank or a stop it is a hint.

## How to confirm
`echo $CUDA_VISIBLE_DEVICES; nvidia-smi -L` in the environment of that rank.

## What to do
As many processes for each node as visible GPUs; index 0 where the scheduler shows each process
only its own GPU.

## References
CUDA runtime API, error codes 46 and 101.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import DeviceFault, DeviceProblem, NcclReason
from unhang.model.events.base import Seen
from unhang.model.ids import Ranks
from unhang.model.incident import Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers


@rule(
    "DEV007",
    "device-not-usable",
    cause=Cause.DEVICE_MAP,
    needs={Fact.DEVICE_ERRORS, Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_LOST_GPU | {Cause.GPU_KERNEL_FAULT},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for devices that are not there, else for busy ones."""
    faults = [d for d in incident.all(DeviceFault) if not d.warning]
    ordinal: list[Seen] = [
        *(d for d in faults if d.problem is DeviceProblem.BAD_ORDINAL),
        *speakers.nccl(incident, NcclReason.CUDA_ORDINAL),
    ]
    busy = [d for d in faults if d.problem is DeviceProblem.BUSY]
    found = speakers.in_order(ordinal or busy)
    if not found:
        return
    first = found[0]
    against = rivals.of_errors(incident, found, kin=frozenset({Manner.DEVICE}))
    culprits = speakers.minority(incident, found)
    yield check.finding(
        Strength.PROVES if ordinal else Strength.SUPPORTS,
        claim=_claim(culprits, absent=bool(ordinal)),
        why=say(
            "DEV007.why",
            "There are more processes than visible GPUs, or the index is counted from another"
            " list.",
        ),
        rival=against,
        culprits=culprits,
        at=first.at,
        evidence=found,
    )


def _claim(culprits: Ranks, *, absent: bool) -> Message:
    if absent and culprits:
        return say(
            "DEV007.claim", "{ranks:ranks} asked for a GPU that does not exist", ranks=culprits
        )
    if absent:
        return say("DEV007.claim_nobody", "a process asked for a GPU that does not exist")
    if culprits:
        return say(
            "DEV007.claim_busy", "the GPU of {ranks:ranks} is busy or unavailable", ranks=culprits
        )
    return say("DEV007.claim_busy_nobody", "a GPU is busy or unavailable")
