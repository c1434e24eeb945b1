"""From findings to ranked causes and one diagnosis: the only file with weights."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.diagnosis import Candidate, Diagnosis, Outcome
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Message

_CONFIDENCE = {Strength.PROVES: 0.9, Strength.SUPPORTS: 0.6, Strength.HINTS: 0.3}


def rank(incident: Incident, findings: Sequence[Finding]) -> Diagnosis:
    """Order the findings and decide."""
    candidates = tuple(
        Candidate(
            cause=f.cause,
            confidence=_CONFIDENCE[f.strength],
            strength=f.strength,
            culprits=f.culprits,
            culprit_hosts=f.culprit_hosts,
            claim=f.claim,
            why=f.why,
            against=f.against,
            rules=(f.rule,),
            evidence=f.evidence,
            phase=f.phase,
        )
        for f in findings
        if f.cause is not None
    )
    if not candidates:
        return Diagnosis(
            outcome=Outcome.UNDETERMINED,
            summary=Message(key="summary.undetermined"),
            coverage=incident.coverage,
        )
    best = max(candidates, key=lambda c: c.confidence)
    return Diagnosis(
        outcome=Outcome.CAUSE,
        cause=best.cause,
        confidence=best.confidence,
        strength=best.strength,
        culprits=best.culprits,
        summary=best.claim,
        candidates=candidates,
        coverage=incident.coverage,
    )
