"""The live judge saw ranks end while others waited for them.

## What it finds
In the record of a watched run: ranks whose process was gone, that an exception ended, or that had
finished their program, while others still waited for them in a collective.

## Why it hangs
The collective can never complete; without a watchdog, or before it fires, the others wait.

## When it stays quiet
For ranks that ended after the hang was confirmed, for they are its victims, and for jobs whose
ranks leave one after another without waiting. Where the last words of such a rank say that it gave
up because of another one (a Gloo peer that sent too many bytes, a lost connection), it only hints:
the first to end is not necessarily at fault.

## How to confirm
The log of the rank, its exit code, and the kernel log of its host.

## What to do
Read the findings that tell how the rank ended. One that finished early had less work than the
others: give all ranks the same number of steps.

## References
`unhang run --help`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import HoldUp, SuspicionReason
from unhang.model.incident import VICTIM_MANNERS, ranks_of
from unhang.model.rule import Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.shared.watched import hold_ups, message, strength


@rule("LOC302", "rank-ended-under-watch", needs={Fact.LIVE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each way in which ranks departed."""
    for event in hold_ups(
        incident, SuspicionReason.GONE, SuspicionReason.RAISED, SuspicionReason.LEFT
    ):
        lacks = say(
            "LOC302.why",
            "The judge watched all processes while the job ran: {victims:ranks}"
            " {waiting:|waits|wait} in {op} for {waited:s}, which cannot complete without"
            " {ranks:ranks}.",
        )
        stays = say(
            "LOC302.why_stays",
            "The judge watched all processes while the job ran, and a launcher waits for the "
            "last of them: an exit handler, or a thread or child that is joined at the exit, "
            "keeps {ranks:ranks} alive.",
        )
        kind = "overdue" if event.stays else event.charge.value
        # Who stays did not give up, whoever ended it at last.
        second_hand = not event.stays and _gave_up_for_others(incident, event)
        yield check.finding(
            Strength.HINTS if second_hand else strength(event),
            claim=message(Message(key=f"live.{kind}"), event),
            why=message(stays if event.stays else lacks, event),
            against=say(
                "LOC302.against_second_hand",
                "its own last words say that it gave up because of another rank",
            )
            if second_hand
            else None,
            culprits=event.culprits,
            phase=event.phase,
            at=event.at,
            evidence=[event],
        )


def _gave_up_for_others(incident: Incident, event: HoldUp) -> bool:
    """Whether all ranks of a departure tell in the logs that another one was the reason."""
    return event.culprits <= ranks_of(f for f in incident.failures if f.manner in VICTIM_MANNERS)
