"""The watchdog of a rank stalled: the process hangs in the driver or holds the GIL.

## What it finds
"watchdog got stuck", "Heartbeat monitor timed out", "Could not acquire GIL", on ranks without an
earlier collective time-out.

## Why it hangs
The watchdog stops when a CUDA call does not return, or when another thread keeps the GIL. The
process cannot issue collectives then; its peers wait.

## When it stays quiet
After a collective time-out: ending the communicator blocks the watchdog, and the message comes
some minutes later as its consequence. When all observed ranks stalled alike, nobody is named;
the number of works in flight, where it is printed, shows who is behind.

## How to confirm
`py-spy dump --native` of that process; the kernel log of its host for Xid messages.

## What to do
Look for a native extension or a data loader that holds the GIL, and for a GPU that hangs.

## References
`TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Finished, WatchdogStuck
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import order


@rule("LOC005", "watchdog-stood-still", needs={Fact.STATUS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield at most one finding for all watchdogs that stood still first."""
    stuck = incident.all(WatchdogStuck)
    if not stuck or incident.timeouts:
        return
    ranks = frozenset(rank for s in stuck if (rank := _rank(s)) is not None)
    behind = _behind(stuck)
    if behind:
        claim = say(
            "LOC005.claim_behind",
            "The watchdogs of {all:ranks} stalled, and {ranks:ranks} had issued fewer"
            " works than the others.",
            ranks=behind,
            all=ranks,
        )
    else:
        behind = ranks if ranks < incident.coverage.ranks_seen else NO_RANKS
        claim = (
            say(
                "LOC005.claim_leaving",
                "The work was told done, and {ranks:ranks} did not leave: {count:|its watchdog"
                " stalled|their watchdogs stalled}.",
                ranks=ranks,
                count=len(ranks),
            )
            if ranks and any(order.is_before(done, stuck[0]) for done in incident.all(Finished))
            else say("LOC005.claim", "The watchdogs of {ranks:ranks} stalled.", ranks=ranks)
        )
    yield check.finding(
        Strength.SUPPORTS,
        claim=claim,
        why=say("LOC005.why_gil", "The GIL could not be taken: a thread keeps it in native code.")
        if any(s.gil for s in stuck)
        else say(
            "LOC005.why",
            "A CUDA call does not return, or another thread keeps the GIL: the process"
            " hangs, and not a peer.",
        ),
        culprits=behind,
        at=stuck[0].at,
        evidence=stuck,
    )


def _behind(stuck: tuple[WatchdogStuck, ...]) -> Ranks:
    """The few ranks with fewer works in flight than all others."""
    pending = {
        rank: s.pending for s in stuck if s.pending is not None and (rank := _rank(s)) is not None
    }
    if len(set(pending.values())) < 2:
        return NO_RANKS
    fewest = min(pending.values())
    behind = frozenset(rank for rank, count in pending.items() if count == fewest)
    return behind if 2 * len(behind) < len(pending) else NO_RANKS


def _rank(stuck: WatchdogStuck) -> Rank | None:
    return stuck.origin.rank
