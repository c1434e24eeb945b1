"""From the stages of a check to one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unhang.model.preflight import CheckReport, Stage, Status, worst
from unhang.model.provenance import Message

CODES = {Status.PASS: 0, Status.WARN: 1, Status.FAIL: 2, Status.SKIP: 3}
"""Exit codes, as plugins of Nagios have them: ok, warning, critical, unknown."""


def verdict_of(stages: Sequence[Stage], *, hosts: int) -> Message:
    """Whether a job can begin."""
    count = {status: sum(stage.status is status for stage in stages) for status in Status}
    values: dict[str, object] = {
        "hosts": hosts,
        "warnings": count[Status.WARN],
        "failures": count[Status.FAIL],
    }
    match worst(stage.status for stage in stages):
        case Status.FAIL:
            return Message(key="check.fail", values=values)
        case Status.WARN:
            return Message(key="check.warn", values=values)
        case Status.PASS:
            return Message(key="check.ok", values=values)
        case Status.SKIP:
            return Message(key="check.unknown", values=values)


def judged(report: CheckReport) -> CheckReport:
    """The report with a verdict on all its stages."""
    return replace(report, verdict=verdict_of(report.stages, hosts=len(report.hosts)))
