"""A rank cannot make its process group: its environment is incomplete or wrong.

## What it finds
A missing or wrong `RANK`, `WORLD_SIZE`, `MASTER_ADDR` or `MASTER_PORT`.

## Why it hangs
That rank fails at once, or trains alone. The others wait for it.

## When it stays quiet
When a rank had failed in another way before; when the job was stopped. A program that uses a group
that it never made raises an exception of its own (CRA001).

## How to confirm
Print the four variables on every rank before `init_process_group`.

## What to do
Start with `torchrun`, `accelerate launch` or `srun` instead of `python`; do not swallow the
exception of a failed `init_process_group` (a common fall-back to one process).

## References
`torch/distributed/rendezvous.py`, `_env_rendezvous_handler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StoreProblem
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.config.rendezvous import faults, why_echo


@rule(
    "CFG005",
    "process-group-not-initialised",
    cause=Cause.RENDEZVOUS,
    needs={Fact.STORE},
    explains=frozenset({Cause.NET_INTERFACE, Cause.RANK_EXCEPTION}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first rank without a group."""
    bare = faults(incident, [StoreProblem.BAD_CONFIGURATION])
    if not bare:
        return
    first = bare[0]
    against = why_echo(incident, first)
    ranks = frozenset(f.origin.rank for f in bare if f.origin.rank is not None)
    size = incident.world.size
    everybody = len(bare) > 1 and (size is None or 2 * len(bare) > size)
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "CFG005.claim",
            "a process group cannot be made: its address, rank or size is missing or wrong",
        ),
        why=say("CFG005.why", "That process fails or trains alone, and the others wait for it."),
        rival=against,
        culprits=frozenset() if everybody else ranks,
        phase=Phase.INIT,
        at=first.at,
        evidence=bare,
    )
