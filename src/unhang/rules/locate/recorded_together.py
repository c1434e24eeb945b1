"""All ranks of a group have issued a call, and it is open on all of them.

## What it finds
Flight Recorder dumps in which nobody lacks anything, and a call is open on every member.

## Why it hangs
If the job hangs, it hangs inside the call: the transport, or a GPU. If it does not, the dumps were
merely taken while the call ran.

## When it stays quiet
Whenever a rank waits for another one.

## How to confirm
Run with `NCCL_DEBUG=INFO`, and look at the network counters of the hosts.

## What to do
Read the findings about the network and the GPUs; nothing in the dumps names a rank.

## References
None.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import recorded


@rule("LOC104", "recorded-call-open-on-all", needs={Fact.DUMPS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one hint; it names nobody."""
    found = None if incident.recorded is None else incident.recorded.analysis
    if found is None or found.mismatches or found.held_up or not found.together:
        return
    wait = found.together[0]
    yield check.finding(
        Strength.HINTS,
        claim=say(
            "LOC104.claim",
            "{ranks:ranks} have all issued {op:ops} number {seq}, and it is open on all.",
            ranks=wait.waiters,
            op=None if wait.shown is None else recorded.operation(wait.shown.op),
            seq=wait.call.seq,
        ),
        why=say("LOC104.why", "Nobody is missing: if the job hangs, it hangs inside the call."),
        call=recorded.call_of(wait),
        evidence=wait.sources,
    )
