"""The dumps show ranks that have not issued a call, and that wait for nothing themselves.

## What it finds
Following who waits for whom over all process groups of the Flight Recorder dumps: the ranks at the
end, which lack a call that others wait in and have no open call of their own.

## Why it hangs
A collective completes only when every rank of its group has issued it, a receive only when its
peer has sent. Every other rank with an open call waits for these, directly or through others.

## When it stays quiet
When the calls of a group differ between ranks: then who waits for whom is the consequence. When a
dump is older than the others, is cut, or its buffer overwrote what would tell.

## How to confirm
Look at the place of the suspect's last call: it went on from there and did not come to the next.
`py-spy dump` of that process shows where it is.

## What to do
Read the findings that name the same rank. If there are none, look for what only this rank does
after its last call: saving, evaluating, loading data, an exception that is swallowed, a branch.

## References
`torch/csrc/distributed/c10d/FlightRecorder.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Rule, Status
from unhang.model.standstill import Role
from unhang.rules import recorded


def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that are absent."""
    found = recorded.suspects(incident, Role.ABSENT)
    if not found or incident.recorded is None:
        return
    ranks = recorded.ranks_of(found)
    wait = recorded.wait_for(incident.recorded, ranks)
    if wait is None:
        return
    strength, against = recorded.weigh(incident, ranks, Strength.PROVES)
    values = {
        "ranks": ranks,
        "waiters": wait.waiters,
        "op": None if wait.call.first is None else wait.call.first.op,
        "seq": wait.seq,
        "group": recorded.group_name(wait.group, wait.description),
    }
    last = found[0].last
    here, there = recorded.place(last), recorded.place(wait.shown)
    yield Finding(
        rule=RULE.code,
        cause=None,
        strength=strength,
        claim=Message(key="LOC101.claim", values=values)
        if wait.seq is not None
        else Message(key="LOC101.claim_pair", values=values),
        why=Message(
            key="LOC101.why_place",
            values={"here": here, "there": there, "idle": found[0].idle_s, "rank": found[0].rank},
        )
        if here is not None and there is not None
        else Message(key="LOC101.why", values={"waiting": incident.recorded.waiting}),
        against=against,
        culprits=ranks,
        phase=recorded.phase_of(found),
        call=wait.call,
        evidence=recorded.evidence(found, wait),
    )


RULE = Rule(
    code="LOC101",
    name="recorded-rank-absent",
    cause=None,
    since="0.1.0",
    status=Status.STABLE,
    needs=frozenset({Fact.DUMPS}),
    check=check,
)
