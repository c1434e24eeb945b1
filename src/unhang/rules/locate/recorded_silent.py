"""All ranks with a dump wait for ranks that left none.

## What it finds
Flight Recorder dumps in which every open call lacks only ranks without a dump, or with an empty or
a cut one.

## Why it hangs
The others have issued the call. A process that was killed, or that is stuck outside of torch,
writes no dump.

## When it stays quiet
When a rank with a dump explains the wait, and when so many dumps are missing that they were
probably not collected. A rank whose file was refused has left one. A rank that had ended normally,
while another one evaluates or saves on its own, leaves none either (see DSY014).

## How to confirm
Look for the process: its exit code, the kernel log of its host, its own log.

## What to do
If the process died, find out why first. If it lives, `py-spy dump` shows where it is: a process
that is stuck in `destroy_process_group` writes no dump either.

## References
pytorch/pytorch#196968.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.recorder_analysis import SuspectRole
from unhang.model.rule import Fact, Finding, Incident, rule, say
from unhang.rules.shared import endings, recorded


@rule("LOC102", "recorded-rank-silent", needs={Fact.DUMPS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that left no dump."""
    if endings.left_alone(incident) is not None:
        return
    yield from recorded.located(
        check,
        incident,
        SuspectRole.SILENT,
        say("LOC102.claim", "{ranks:ranks} left no usable dump, and all others wait for it."),
        say(
            "LOC102.why",
            "Every rank with a dump has issued what the others wait in. A process without one may"
            " have died, or is stuck in `destroy_process_group`.",
        ),
    )
