"""Calls that ranks issued differently by their logs, as the analysis of the waits tells them."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.incident import Call, Incident
from unhang.model.waits import Aspect, Mismatch, WitnessKind


def mismatches(incident: Incident, aspect: Aspect) -> Iterator[tuple[Mismatch, Call]]:
    """Yield the mismatches of one aspect, each with its call."""
    for found in incident.analysis(WitnessKind.LOG).mismatches:
        if found.aspect is aspect:
            named = (c for c in incident.calls if c.seq == found.call.seq)
            yield found, next(c for c in named if _name(c) == found.call.group)


def _name(call: Call) -> str | None:
    return None if call.group is None else call.group.name
