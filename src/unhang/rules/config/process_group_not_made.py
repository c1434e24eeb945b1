"""The ranks could not meet: the exception was raised where the process group is made.

## What it finds
An exception out of `init_process_group`, its store or the elastic rendezvous, in words that none of
the store rules recognizes: a refused connection, an address that cannot be used, a name that does
not resolve.

## Why it hangs
The rank that cannot join leaves; those that could wait in the store until it gives up.

## When it stays quiet
Where the store's own messages say more (CFG001 to CFG007), and where the exception is of the
program itself. A closed rendezvous is the echo of a node that left. After another failure, a stop,
or a time-out of a collective it is a hint.

## How to confirm
On the host of the rank that raised: `getent hosts "$MASTER_ADDR"`, `nc -vz "$MASTER_ADDR"
"$MASTER_PORT"` while rank 0 waits.

## What to do
One address and one port for all ranks, which every host resolves to an interface of rank 0's host;
start rank 0 first, or let the others try again until it is there.

## References
`torch/distributed/rendezvous.py`; `torch.distributed.TCPStore`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import ExceptionKind, PythonException, StoreFault, StoreProblem
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.config.rendezvous import why_echo, why_under_way
from unhang.rules.shared import speakers

_NORMAL = frozenset(
    {
        StoreProblem.CONNECT_REFUSED,
        StoreProblem.BARRIER_WAITING,
        StoreProblem.RENDEZVOUS_CLOSED,
    }
)
"""What the store prints at any start, or where another node has failed."""
_LOADER = "torch/utils/data/"
"""A loader shares its seed through the store long after the group is made."""
_ECHO = "RendezvousClosedError"
"""Some other node closed it."""


@rule(
    "CFG009",
    "process-group-not-made",
    cause=Cause.RENDEZVOUS,
    needs={Fact.EXCEPTIONS},
    explains=frozenset({Cause.RANK_EXCEPTION}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding where the store itself says nothing."""
    raised = [
        e
        for e in incident.all(PythonException)
        if e.kind is ExceptionKind.RENDEZVOUS
        and not e.handled
        and not any(_LOADER in frame.file for frame in e.frames)
    ]
    told = any(f.problem not in _NORMAL for f in incident.all(StoreFault))
    if not raised or told:
        return
    found = sorted(speakers.in_order(raised), key=lambda e: e.exception == _ECHO)
    first = found[0]
    closed = first.exception == _ECHO
    yield check.finding(
        Strength.HINTS if closed else Strength.SUPPORTS,
        rival=why_echo(incident, first) or why_under_way(incident, first),
        claim=say(
            "CFG009.claim",
            "the ranks could not meet: {error}",
            error=f"{first.exception}: {first.message}"[:200],
        ),
        why=say(
            "CFG009.why",
            "It was raised where the process group is made, before any collective.",
        ),
        against=say(
            "CFG009.against_closed",
            "a rendezvous is closed by a node that leaves: why it left is not told here",
        )
        if closed
        else say(
            "CFG009.against",
            "nothing shows whether the address, the network or rank 0 is at fault",
        ),
        phase=Phase.INIT,
        at=first.at,
        evidence=found,
    )
