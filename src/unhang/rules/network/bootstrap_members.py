"""NCCL's bootstrap met members that do not fit: a rank twice, or another number of ranks.

## What it finds
"Bootstrap Root : rank N of M ranks has already checked in", "mismatch in rank count", an invalid
rank, and a wrong magic number on a socket.

## Why it hangs
Every rank reports to rank 0 of the communicator with its number and the size. A second process with
the same `RANK`, ranks started with another `WORLD_SIZE`, or a process that is left over from an
earlier start spoils the count; the others wait for a member that never comes.

## When it stays quiet
A wrong magic alone may be a port scanner: it is only a hint.

## How to confirm
`ps` for processes of an earlier start on every host; print `RANK`, `WORLD_SIZE` and `MASTER_PORT`
of every process before `init_process_group`.

## What to do
End the left-over processes, use a new port for each start, let the launcher set the variables.

## References
NCCL `src/bootstrap.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import NcclReason
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, speakers

_STRENGTHS = {
    NcclReason.BOOTSTRAP_DUPLICATE: Strength.PROVES,
    NcclReason.BOOTSTRAP_COUNT: Strength.PROVES,
    NcclReason.RANK_RANGE: Strength.SUPPORTS,
    NcclReason.WRONG_MAGIC: Strength.HINTS,
}


@rule(
    "NET012",
    "bootstrap-members-do-not-fit",
    cause=Cause.RENDEZVOUS,
    needs={Fact.NCCL_WARNINGS},
    explains=consequences.OF_A_BROKEN_LINK - {Cause.RENDEZVOUS} | {Cause.NET_INTERFACE},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the most telling complaint."""
    for reason, strength in _STRENGTHS.items():
        found = speakers.nccl(incident, reason)
        if not found:
            continue
        yield check.finding(
            strength,
            claim=say(
                "NET012.claim",
                "the members of the communicator do not fit together: {text}",
                text=found[0].detail[:160],
            ),
            why=say(
                "NET012.why",
                "A second process with the same rank, another world size, or a process left"
                " over from an earlier start took part.",
            ),
            at=found[0].at,
            evidence=found,
        )
        return
