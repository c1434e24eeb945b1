"""Fewer ranks arrived than the job was told to expect.

## What it finds
A store or a store-based barrier that gave up with `n` of `m` ranks joined, or that waits for them
again and again until the log ends.

## Why it hangs
`init_process_group` returns only when `WORLD_SIZE` ranks have joined. If fewer were started, or if
one of them failed before that, the rest wait.

## When it stays quiet
When a rank failed before (its failure is the cause, this its echo), and when the job was stopped.

## How to confirm
Count the processes on every node while the job waits (`pgrep -fc train.py`) and compare with
`WORLD_SIZE` = nodes x processes for each node.

## What to do
Start every node; give each its own `--node-rank`; use `srun` so that each node starts its share;
set `--nnodes` and `--nproc-per-node` alike everywhere. If all were started, read the log of a rank
that did not join.

## References
`torch.distributed.TCPStore(wait_for_workers=True)`; `distributed_c10d._store_based_barrier`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import PythonException, StoreFault, StoreProblem
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.config.rendezvous import faults, why_echo
from unhang.rules.shared import order

_MANY = 3
"""The barrier prints every ten seconds; a few of them are an ordinary start."""
_MAKES_THE_STORE = "_create_c10d_store"
"""Where `init_process_group` makes it (torch/distributed/rendezvous.py); agents make theirs."""


@rule(
    "CFG003",
    "fewer-ranks-than-expected",
    cause=Cause.RENDEZVOUS,
    needs={Fact.STORE},
    explains=frozenset({Cause.NET_INTERFACE, Cause.RANK_EXCEPTION}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the count that stayed short."""
    gave_up = faults(incident, [StoreProblem.CLIENTS_MISSING, StoreProblem.BARRIER_TIMED_OUT])
    short = [
        f for f in gave_up or _still_waiting(incident) if f.joined != f.expected or f.joined is None
    ]
    if not short:
        return
    last = short[-1]
    against = why_echo(incident, short[0])
    counted = last.joined is not None and last.expected is not None
    more = counted and (last.joined or 0) > (last.expected or 0)
    claim = (
        say("CFG003.claim_more", "{joined} ranks joined a group of {expected}")
        if more
        else say("CFG003.claim", "only {joined} of {expected} ranks joined in time")
        if counted
        else say("CFG003.claim_unknown", "not all ranks joined in time")
    )
    yield check.finding(
        Strength.SUPPORTS,
        claim=claim.using(joined=last.joined, expected=last.expected),
        why=say(
            "CFG003.why",
            "Start-up completes only when as many ranks have joined as were announced.",
        ),
        rival=against,
        phase=Phase.INIT,
        culprits=NO_RANKS if against is not None else _absent(incident, last, short),
        at=last.at,
        evidence=short,
    )


def _absent(incident: Incident, last: StoreFault, short: Sequence[StoreFault]) -> Ranks:
    """Who did not come, where as many are known to wait as were counted; else nobody.

    Only the store's own process counts clients, itself among them: rank 0, where the store is that
    of the ranks, and not that of the launcher's agents.
    """
    came = frozenset(f.waiter for f in short if f.waiter is not None)
    if last.problem is StoreProblem.CLIENTS_MISSING:
        if not _is_of_ranks(incident, last):
            return NO_RANKS
        came |= {Rank(0)}
    world = incident.world
    if world.ranks is None or last.expected != world.size or len(came) != last.joined:
        return NO_RANKS
    return frozenset(world.ranks) - came


def _is_of_ranks(incident: Incident, fault: StoreFault) -> bool:
    place = fault.source.artifact, fault.source.line
    return any(
        frame.function == _MAKES_THE_STORE
        for e in incident.all(PythonException)
        if (e.source.artifact, e.source.line) == place
        for frame in e.frames
    )


def _still_waiting(incident: Incident) -> list[StoreFault]:
    """A barrier that printed its wait again and again, and nothing worked after it."""
    waits = faults(incident, [StoreProblem.BARRIER_WAITING])
    if len(waits) < _MANY or order.works_after(incident, waits[-1]):
        return []
    return waits
