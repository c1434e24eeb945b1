"""What the live judge held against ranks; shared by the rules on run records."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import HoldUp, Stage, SuspicionReason
from unhang.model.finding import Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message

_STRENGTH = {Stage.CONFIRMED: Strength.PROVES, Stage.SUSPECTED: Strength.SUPPORTS}


def hold_ups(incident: Incident, *charges: SuspicionReason) -> Iterator[HoldUp]:
    """Yield what was at least suspected, of some kinds; where a hang was confirmed, only that."""
    told = [e for e in incident.all(HoldUp) if e.stage is not Stage.WATCHED]
    sure = [e for e in told if e.stage is Stage.CONFIRMED]
    yield from (event for event in sure or told if event.charge in charges)


def waited_for(incident: Incident) -> Iterator[HoldUp]:
    """Yield ranks that worked while others waited so long that it was told."""
    yield from (e for e in incident.all(HoldUp) if e.charge is SuspicionReason.AT_WORK)


def strength(event: HoldUp) -> Strength:
    """How far the judge's own certainty carries a statement on who holds others up."""
    return _STRENGTH[event.stage]


def message(sentence: Message, event: HoldUp) -> Message:
    """The sentence with everything that the event tells."""
    return sentence.using(
        ranks=event.culprits,
        count=len(event.culprits),
        victims=event.victims,
        waiting=len(event.victims),
        all=event.culprits | event.victims,
        op=event.op or "a collective",
        seq=event.seq,
        waited=event.waited_s,
        still=event.still_s,
        place=event.place or "?",
        told=f" ({event.told})" if event.told else "",
        move=event.move,
        due=event.due,
        work=None if event.phase is None else event.phase.value,
    )
