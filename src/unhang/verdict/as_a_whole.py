"""What findings are worth where the logs as a whole read like those of jobs that did not fail.

A line may say that something failed and be quoted, retried or expected; the words of all other
lines tell the good jobs from the bad. They convict nobody: they only take back what lines convict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unhang.model.causes import Cause
from unhang.model.events import HoldUp
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.likely import Sign
from unhang.model.provenance import Message
from unhang.verdict.chances import LEAST_WORDS, counts, load_chances

_FINE = 0.7
"""Chance that nothing failed from which findings are hints: of 301 right verdicts on jobs that were
left out of the fit none was as high, of 40 others 5, all on jobs that did not fail."""
_KEPT = (None, Cause.BANDWIDTH_LOW)
"""Who it is about, and what a job may have although nothing failed."""


def as_a_whole(
    incident: Incident, signs: Sequence[Sign], findings: Sequence[Finding]
) -> Sequence[Finding]:
    """Return the findings, as hints where the logs read as if nothing had failed.

    Who was seen to wait, in a call or in its stacks, or by the live judge, was not told by words:
    what is found about that stays as it is, and so does who it is about.
    """
    seen = incident.calls or incident.stances or incident.recorded or incident.all(HoldUp)
    if seen or incident.finished or not findings:
        return findings
    chances, told = load_chances(), counts(signs)
    if chances.words(told) < LEAST_WORDS:
        return findings
    fine = chances.of_no_failure(told)
    if fine < _FINE:
        return findings
    against = Message(key="against.reads_fine", values={"percent": round(100 * fine)})
    return [
        f if f.urgent or f.cause in _KEPT else replace(f, strength=Strength.HINTS, against=against)
        for f in findings
    ]
