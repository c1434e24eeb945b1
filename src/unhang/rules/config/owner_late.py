"""A rank waited for a store key that another rank never wrote.

## What it finds
`store->get('0') got error …` while the NCCL communicator is set up, or a key of the store that
nobody wrote in time. The first rank of the group writes it.

## Why it hangs
The owner of the key has not reached its first collective: it still loads data, downloads or
compiles, or it has failed. The rank that reports is only the first to give up.

## When it stays quiet
When a rank failed before, or training had begun. When a phase of the owner is seen under way, the
rules on slow work say what it did, and this is a hint. The network is not the cause: the waiting
rank did reach the store.

## How to confirm
Look at what the owner does meanwhile: its last log lines, `py-spy dump --pid PID`, its memory and
its I/O.

## What to do
Do slow work before `init_process_group` or in all ranks alike; prepare data sets beforehand;
raise the limit only if the owner's work is legitimate and finite.

## References
`ProcessGroupNCCL::broadcastUniqueNCCLID`; `init_process_group(timeout=)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StoreProblem
from unhang.model.finding import Collect
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.config.rendezvous import faults, why_echo, why_under_way

_OWNER_AT_WORK = Collect.of("owner_stack")
_SLOW = frozenset({Phase.LOAD, Phase.DATA, Phase.COMPILE, Phase.EVAL, Phase.SAVE})


@rule(
    "CFG004",
    "store-key-never-written",
    cause=Cause.RENDEZVOUS,
    needs={Fact.STORE},
    explains=frozenset({Cause.NET_INTERFACE, Cause.RANK_EXCEPTION}),
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield who is late, and start-up as the cause."""
    waits = faults(incident, [StoreProblem.UNIQUE_ID_TIMED_OUT, StoreProblem.KEY_TIMED_OUT])
    if not waits or faults(incident, [StoreProblem.BARRIER_TIMED_OUT]):
        return
    first = waits[0]
    owners = frozenset(f.owner for f in waits if f.owner is not None and f.owner >= Rank(0))
    waiters = frozenset(f.waiter for f in waits if f.waiter is not None)
    against = why_echo(incident, first) or why_under_way(incident, first)
    if against is None and any(p.phase in _SLOW for p in incident.open_phases):
        against = say(
            "CFG004.against_phase", "slow work is seen under way, which explains the late rank"
        )
    claim = (
        say(
            "CFG004.claim",
            "{owners:ranks} never wrote the key that {waiters:ranks} waited for",
            owners=owners,
            waiters=waiters,
        )
        if owners
        else say("CFG004.claim_nobody", "a rank waited for a store key that was never written")
    )
    evidence = tuple(f.source for f in waits)[:4]
    if owners and against is None:
        yield check.finding(
            Strength.SUPPORTS,
            cause=None,
            claim=claim,
            why=say(
                "CFG004.why",
                "The waiting rank did reach the store. The rank that writes the key has not"
                " reached its first collective: it is late, or it has failed.",
            ),
            culprits=owners,
            phase=Phase.INIT,
            at=first.at,
            evidence=evidence,
            collect=(_OWNER_AT_WORK,),
        )
    yield check.finding(
        Strength.SUPPORTS,
        claim=claim,
        why=say(
            "CFG004.why",
            "The waiting rank did reach the store. The rank that writes the key has not"
            " reached its first collective: it is late, or it has failed.",
        ),
        rival=against,
        against=say("CFG004.against", "the logs do not show what the late rank was doing"),
        culprits=owners if against is None else NO_RANKS,
        phase=Phase.INIT,
        at=first.at,
        evidence=evidence,
        collect=(_OWNER_AT_WORK,),
    )
