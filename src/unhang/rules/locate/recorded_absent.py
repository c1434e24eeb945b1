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

from unhang.model.ids import Rank, Ranks
from unhang.model.recorder_analysis import RecorderAnalysis, Suspect, SuspectRole
from unhang.model.rule import Fact, Finding, Incident, Message, Strength, rule, say
from unhang.model.waits import Wait
from unhang.rules.shared import recorded

_WHY = {
    (True, False): say(
        "LOC101.why_place",
        "The last call of {rank:ranks} was {last_op:ops} number {last_seq}, issued at {here},"
        " {idle:s} before the last call of any rank; a rank that waits stands at {there}.",
    ),
    (True, True): say(
        "LOC101.why_place_live",
        "The last call of {rank:ranks} was {last_op:ops} number {last_seq}, issued at {here},"
        " {rested:s} before its dump; a rank that waits stands at {there}.",
    ),
    (False, False): say(
        "LOC101.why_last",
        "The last call of {rank:ranks} was {last_op:ops} number {last_seq} of group"
        " {last_group}, {idle:s} before the last call of any rank; {waiting:ranks}"
        " {waiting:|waits|wait}.",
    ),
    (False, True): say(
        "LOC101.why_last_live",
        "The last call of {rank:ranks} was {last_op:ops} number {last_seq} of group"
        " {last_group}, {rested:s} before its dump; {waiting:ranks} {waiting:|waits|wait}.",
    ),
}


@rule("LOC101", "recorded-rank-absent", needs={Fact.DUMPS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all ranks that are absent."""
    found = recorded.suspects(incident, SuspectRole.ABSENT)
    if not found or incident.recorded is None:
        return
    ranks = recorded.ranks_of(found)
    wait = incident.recorded.analysis.wait_for(ranks)
    if wait is None:
        return
    hidden = len(ranks) > 1 and any(_omits_pairs(incident.recorded, rank) for rank in ranks)
    otherwise = Strength.SUPPORTS if hidden else Strength.PROVES
    strength, against = recorded.weigh(incident, ranks, otherwise)
    values = {
        "ranks": ranks,
        "waiters": wait.waiters,
        "op": None if wait.shown is None else recorded.operation(wait.shown.op),
        "seq": wait.call.seq,
        "group": recorded.group_name(wait.call),
    }
    yield check.finding(
        strength,
        claim=say(
            "LOC101.claim",
            "{ranks:ranks} had not issued {op:ops} number {seq} of group {group}, which"
            " {waiters:ranks} {waiters:|waits|wait} in.",
            **values,
        )
        if wait.call.seq is not None
        else say(
            "LOC101.claim_pair",
            "{ranks:ranks} had not issued the other side of a send or receive that"
            " {waiters:ranks} {waiters:|waits|wait} in.",
            **values,
        ),
        why=_why(found[0], ranks, wait, incident.recorded),
        against=against
        or (
            say(
                "recorder.unrecorded",
                "These ranks also send and receive, which this back end does not record: one of"
                " them may only wait for another.",
            )
            if hidden
            else None
        ),
        culprits=ranks,
        phase=recorded.phase_of(found),
        call=recorded.call_of(wait),
        evidence=recorded.evidence(found, wait),
    )


def _omits_pairs(found: RecorderAnalysis, rank: Rank) -> bool:
    recording = found.recordings.get(rank)
    return recording is not None and recording.omits_pairs


def _why(suspect: Suspect, ranks: Ranks, wait: Wait, found: RecorderAnalysis) -> Message:
    """Where one suspect was last seen, beside one that waits."""
    last = suspect.last
    if last is None or (suspect.idle_s is None and suspect.rested_s is None):
        return say(
            "LOC101.why",
            "In the dumps {waiting:ranks} {waiting:|has|have} open calls that lead there, and"
            " {ranks:ranks} {ranks:|has|have} none.",
            ranks=ranks,
            waiting=found.held_up,
        )
    here, there = recorded.place(last), recorded.place(wait.shown)
    placed, timed = here is not None and there is not None, suspect.rested_s is not None
    return _WHY[placed, timed].using(
        rank=suspect.rank,
        last_op=last.op,
        last_seq=last.seq,
        last_group=last.group,
        here=here,
        there=there,
        idle=suspect.idle_s,
        rested=suspect.rested_s,
        waiting=found.held_up,
    )
