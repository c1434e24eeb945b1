"""From a verdict to what to do about it, in the syntax of the user's own framework."""

from __future__ import annotations

from unhang.model.diagnosis import Diagnosis, Fix, RejectedAdvice
from unhang.model.incident import Incident
from unhang.remedies.advice import reject
from unhang.remedies.context import build_case
from unhang.remedies.fixes import write_fixes

__all__ = ["suggest"]


def suggest(
    incident: Incident, diagnosis: Diagnosis
) -> tuple[tuple[Fix, ...], tuple[RejectedAdvice, ...]]:
    """Return what cures the cause, and which settings in force do nothing for it.

    Args:
        incident: what happened.
        diagnosis: the verdict on it; without a cause there is nothing to cure.

    Returns:
        Fixes, the best first; and advice to reject, in the order in which it was seen.
    """
    case = build_case(incident, diagnosis)
    return () if case is None else write_fixes(case), reject(incident, diagnosis)
