"""Settings found in the user's files that do nothing for this failure, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.model.diagnosis import Diagnosis, RejectedAdvice
from unhang.model.events import FrameworkSeen, SettingSeen
from unhang.model.incident import Incident
from unhang.remedies.context import find_framework_used
from unhang.settings import SettingContext, judge

MOST = 8
"""Lines of a report; a launch script that exports more myths than that is past counting."""


def reject(incident: Incident, diagnosis: Diagnosis) -> tuple[RejectedAdvice, ...]:
    """Judge every setting that was seen; those that do nothing, once each."""
    seen = incident.all(SettingSeen)
    if not seen:
        return ()
    context = _context(incident, diagnosis, {e.name: e.value for e in seen})
    rejected: dict[tuple[str, str], RejectedAdvice] = {}
    for event in seen:
        for verdict in judge(event.name, event.value, context):
            if verdict.futile:
                found_in = event.source.artifact
                if event.source.line is not None:
                    found_in = f"{found_in}:{event.source.line}"
                rejected.setdefault(
                    (event.name, verdict.reason.key),
                    RejectedAdvice(setting=event.name, found_in=found_in, reason=verdict.reason),
                )
    return tuple(rejected.values())[:MOST]


def _context(incident: Incident, diagnosis: Diagnosis, others: Mapping[str, str]) -> SettingContext:
    framework, release = find_framework_used(incident, diagnosis)
    call = diagnosis.call or next(iter(incident.calls), None)

    def version(component: str) -> str | None:
        return incident.versions.get(component, (None, ""))[0]

    return SettingContext(
        nccl=version("nccl"),
        torch=version("torch"),
        framework=framework,
        framework_version=release,
        frameworks=frozenset(e.name for e in incident.all(FrameworkSeen)),
        expired_ms=None if call is None else call.timeout_ms,
        others=others,
    )
