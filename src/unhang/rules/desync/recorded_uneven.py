"""The dumps show ranks whose loop was shorter or longer than the others'.

## What it finds
A few ranks that wait in a barrier after their loop while the others are at the beginning of one
more step; or a few that wait in a call of one more step that none of the many others has issued.

## Why it hangs
Every step has collectives that need all ranks. A rank with fewer batches leaves the others waiting
in the next step.

## When it stays quiet
When the odd ranks' last call also occurs inside the steps, or was issued from an earlier line than
that of the others, or within the loop that these are in: then the code paths differ. When those
that are behind gave up a call themselves: a call that a broken link ended is no longer open.

## How to confirm
Print the number of batches on each rank.

## What to do
Give every rank the same number of batches (`drop_last=True`, `DistributedSampler`, padding), or use
`model.join()` / `Join`.

## References
PyTorch tutorial "Distributed Training with Uneven Inputs Using the Join Context Manager".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import Ranks
from unhang.model.incident import Manner, ranks_of
from unhang.model.recorder_analysis import SuspectRole
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.shared import consequences, recorded

_EXPLAINED = consequences.OF_RANKS_OUT_OF_STEP | {Cause.DESYNC}


@rule(
    "DSY103",
    "recorded-loops-uneven",
    cause=Cause.UNEVEN_WORK,
    needs={Fact.DUMPS},
    status=Status.PREVIEW,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that were done first, or last."""
    found = None if incident.recorded is None else incident.recorded.analysis
    if found is None:
        return
    for difference in found.mismatches:
        most = difference.variants[0]
        if difference.odd and recorded.may_be_a_shorter_loop(incident, difference):
            yield check.finding(
                Strength.SUPPORTS,
                claim=say(
                    "DSY103.claim_shorter",
                    "{ranks:ranks} left the loop earlier than the others.",
                    ranks=difference.odd,
                ),
                why=say(
                    "DSY103.why_shorter",
                    "It waits in a barrier after the loop, while {others:ranks} issued {op}"
                    " as at the beginning of every step.",
                    others=most.ranks,
                    op=most.kind.op,
                ),
                culprits=difference.odd,
                explains=_EXPLAINED,
                call=recorded.mismatched_call(difference),
                evidence=recorded.sources(difference.variants[1::-1]),
            )
    ahead = recorded.suspects(incident, SuspectRole.AHEAD)
    ranks = recorded.ranks_of(ahead)
    wait = next((w for w in found.waits if w.waiters & ranks), None)
    # A call that a link broke is no longer open on the rank that gave it up, though it never ended.
    if wait is not None and not wait.awaited & _gave_up(incident):
        yield check.finding(
            Strength.SUPPORTS,
            claim=say(
                "DSY103.claim_longer",
                "{ranks:ranks} {ranks:|waits|wait} in number {seq}, which none of the others"
                " issued.",
                ranks=ranks,
                seq=wait.call.seq,
            )
            if wait.call.seq is not None
            else say(
                "DSY103.claim_longer_pair",
                "{ranks:ranks} {ranks:|waits|wait} in a send or receive of one more step,"
                " which none of the others began.",
                ranks=ranks,
            ),
            why=say(
                "DSY103.why_longer",
                "{others:ranks} are all in step one call before it, and have nothing open.",
                others=wait.awaited,
            ),
            culprits=ranks,
            explains=consequences.OF_RANKS_OUT_OF_STEP,
            call=recorded.call_of(wait),
            evidence=recorded.evidence(ahead, wait),
        )


def _gave_up(incident: Incident) -> Ranks:
    """Ranks whose own calls failed, by their limit or because of a peer."""
    failed = ranks_of(f for f in incident.failures if f.manner in {Manner.WATCHDOG, Manner.PEER})
    return incident.gave_up | failed
