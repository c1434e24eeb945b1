"""All that the ranks printed, side by side, shows a few that are not where the others are.

## What it finds
Logs of a job that stopped without a word, in which each rank can be told apart, by whatever marks
its lines or its files have. Ranks that say that their loop, their data or their training is at an
end, as often as no other says it, and count no step after that. Or a few that went on, with words
of their own, from a line at which all others end and behind which the same line always came, or
that left something out by their last words and are awaited. Or a few that say another thing of
their model than all others, and are awaited.

## Why it hangs
Every step has collectives. A rank with less to do, or one that stops or passes by a value of its
own, does not issue them; the others wait in a call that it never joins.

## When it stays quiet
Where nothing shows that anybody waits: neither time that went by, nor a rank that gave up, nor that
those that ended had less to do; that is a hint. Where only rank 0 says that something is over;
where the ranks say that they agree on it (a join, a flag that all reduce); where the job ended
well, or a process failed by itself; where who went on is at other work; where the ranks hold
different parts of one model.

## How to confirm
Print the number of batches, and the reason to stop or to pass, on every rank; or take the stacks.

## What to do
Give all ranks the same number of steps (`drop_last=True`, a sampler that pads, the least of all
lengths), decide on all ranks together (all-reduce the flag), or use the join context manager.

## References
`torch.distributed.algorithms.join`; `torch.utils.data.distributed.DistributedSampler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import ApartKind, RanksApart
from unhang.model.ids import NO_RANKS
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Status, Strength, rule, say
from unhang.model.stack_states import Doing
from unhang.rules.shared import order, rivals

_ECHOES = frozenset(
    {Cause.TIMEOUT_SHORT, Cause.DESYNC, Cause.MODEL_DIVERGENCE, Cause.EXTERNAL_STOP}
)
"""Ranks in different steps issue different collectives; who waits for hours stops the job."""

_CAUSES = {
    ApartKind.ENDED: Cause.UNEVEN_WORK,
    ApartKind.PASSED: Cause.DESYNC,
    ApartKind.DIFFERENT: Cause.MODEL_DIVERGENCE,
}


@rule(
    "DSY018",
    "ranks-apart-by-their-words",
    cause=Cause.UNEVEN_WORK,
    needs={Fact.PHASES},
    status=Status.PREVIEW,
    explains=_ECHOES,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the ranks that are apart."""
    for apart in incident.all(RanksApart)[-1:]:
        waits = apart.stood or apart.totals is not None or _somebody_waits(incident)
        weight = rivals.weigh(incident, apart, Strength.SUPPORTS if waits else Strength.HINTS)
        yield check.finding(
            weight.strength,
            cause=_CAUSES[apart.kind],
            claim=_claim(apart),
            why=say(
                "DSY018.why",
                "Every step has collectives that need all ranks; the others say nothing of the kind"
                " and wait for them.",
            ),
            against=weight.against,
            culprits=apart.ranks if len(apart.ranks) <= len(apart.others) else NO_RANKS,
            at=apart.at,
            call=incident.calls[0] if incident.calls else None,
            evidence=[apart],
        )


def _claim(apart: RanksApart) -> Message:
    if apart.kind is ApartKind.PASSED:
        return say(
            "DSY018.claim_passed",
            "{ranks:ranks} went on (`{detail}`) from where all others stand.",
            ranks=apart.ranks,
            detail=apart.detail,
        )
    if apart.kind is ApartKind.DIFFERENT:
        return say(
            "DSY018.claim_different",
            "{ranks:ranks} say of their model what no other says (`{detail}`).",
            ranks=apart.ranks,
            detail=apart.detail,
        )
    if apart.totals is not None:
        return say(
            "DSY018.claim_totals",
            "{ranks:ranks} had less to do ({least} of {most}) and ended (`{detail}`).",
            ranks=apart.ranks,
            least=apart.totals[0],
            most=apart.totals[1],
            detail=apart.detail,
        )
    return say(
        "DSY018.claim",
        "{ranks:ranks} ended (`{detail}`); no other rank says so.",
        ranks=apart.ranks,
        detail=apart.detail,
    )


def _somebody_waits(incident: Incident) -> bool:
    """Whether a rank gave up waiting, or stacks show one that waits."""
    stands = any(s.doing is Doing.WAITS and not s.moved for s in incident.stances)
    return stands or order.earliest(e for e in incident.events if e.gave_up) is not None
