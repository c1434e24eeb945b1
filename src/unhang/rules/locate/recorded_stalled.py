"""A rank has issued a call that others have completed, and does not complete it.

## What it finds
Flight Recorder dumps in which the first open call of a rank is done on other members of its group,
while ranks wait for this one in later calls.

## Why it hangs
The others could complete the call only with this rank's part, so its peers are not what it waits
for: its GPU makes no progress (an error, a kernel that never ends), or the thread that watches it
is stuck.

## When it stays quiet
For calls that some ranks may leave before the others (a broadcast, a reduction to one rank), for
dumps that were not taken at the same time, and on back ends that keep no states (Gloo).

## How to confirm
`nvidia-smi` and the kernel log of the host (Xid), and the rank's own log for CUDA errors.

## What to do
Look for the CUDA error or the Xid of this rank first. Take the GPU out of the job if it has one.

## References
`torch/csrc/distributed/c10d/FlightRecorder.hpp`: `time_discovered_completed_`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import NO_RANKS
from unhang.model.recorder_analysis import SuspectRole
from unhang.model.rule import Fact, Finding, Incident, rule, say
from unhang.rules.shared import recorded


@rule("LOC103", "recorded-rank-stalled", needs={Fact.DUMPS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that do not get on."""
    waiting = NO_RANKS if incident.recorded is None else incident.recorded.held_up
    why = say(
        "LOC103.why",
        "The peers contributed their parts, so the GPU of these ranks makes no progress;"
        " {waiting:ranks} {waiting:|waits|wait} for them.",
        waiting=waiting,
    )
    yield from recorded.located(
        check,
        incident,
        SuspectRole.STALLED,
        say(
            "LOC103.claim",
            "{ranks:ranks} {ranks:|does|do} not complete calls that the other members"
            " have completed.",
        ),
        why,
    )
