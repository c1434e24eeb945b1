"""What findings are worth: from how the job went on, and from how its logs read as a whole.

A line may say that something failed and be outlived, quoted, retried or expected. Then what rests
on it is a hint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unhang.model.causes import Cause
from unhang.model.events import HoldUp
from unhang.model.events.lifecycle import LONG_AT_WORK
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.likely import Sign
from unhang.model.provenance import Message
from unhang.verdict.chances import LEAST_WORDS, counts, load_chances
from unhang.verdict.outlived import is_history, is_stray, is_untouched, outlived

PERFORMANCE = frozenset({Cause.BANDWIDTH_LOW})
"""Causes that a job may have although it ended well."""
_ENDS_A_PROCESS = frozenset({Cause.GPU_KERNEL_FAULT, Cause.RANK_CRASH, Cause.HOST_OOM})
"""Causes that a job shows by an end or an error of its own; ill hardware may just stop it."""
_FINE = 0.7
"""Chance that nothing failed from which findings are hints: of 301 right verdicts on jobs that were
left out of the fit none was as high, of 40 others 5, all on jobs that did not fail."""


def doubted(incident: Incident, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, as hints where the job or who tells of it speaks against them."""
    worked_on, watched = outlived(incident, LONG_AT_WORK), any(incident.all(HoldUp))
    astray = incident.contested or is_stray(incident)
    untouched = is_untouched(incident)

    def is_doubted(finding: Finding) -> bool:
        slow = finding.cause in PERFORMANCE and finding.call is None  # which it shows by working
        kept = slow or (watched and finding.cause is None)
        return (
            astray
            or (worked_on and not kept)
            or (untouched and finding.cause in _ENDS_A_PROCESS)
            or is_history(incident, finding)
        )

    return [_hint(f) if is_doubted(f) else f for f in findings]


def as_a_whole(
    incident: Incident, signs: Sequence[Sign], findings: Sequence[Finding]
) -> Sequence[Finding]:
    """Return the findings, as hints where the logs read as if nothing had failed.

    The words of all lines tell the good jobs from the bad; they convict nobody, and only take back
    what lines convict. Who was seen to wait, in a call or in its stacks, or by the live judge, was
    not told by words: what is found about that stays as it is, and so does who it is about.
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
        f
        if f.urgent or f.cause is None or f.cause in PERFORMANCE
        else replace(_hint(f), against=against)
        for f in findings
    ]


def _hint(finding: Finding) -> Finding:
    return replace(finding, strength=Strength.HINTS)
