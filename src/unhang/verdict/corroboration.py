"""From all findings to which kind of source says what for or against the verdict.

A verdict rests on one finding. Others may rest on sources that know nothing of each other: logs,
the Flight Recorder, stacks, NCCL's RAS, the kernel. That they agree is worth more than any of them
alone, and that they do not must not be hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import (
    BandwidthMeasured,
    CheckFault,
    CollectivesMeasured,
    DumpRead,
    DumpUnusable,
    Event,
    GpuProcess,
    GpuState,
    GpuUuid,
    HoldUp,
    HostReport,
    KernelEvent,
    RasReport,
    StackRefused,
    StackSeen,
    ThreadStack,
    TopologySeen,
    WaitsSeen,
)
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import Provenance
from unhang.model.statement import Bearing, Source, Statement

_KINDS: tuple[tuple[tuple[type[Event], ...], Source], ...] = (
    ((DumpRead, DumpUnusable), Source.DUMPS),
    ((ThreadStack, StackSeen, StackRefused), Source.STACKS),
    ((RasReport,), Source.RAS),
    ((HoldUp, WaitsSeen), Source.WATCH),
    ((KernelEvent,), Source.KERNEL),
    ((HostReport, CheckFault, GpuProcess, GpuState, GpuUuid, TopologySeen), Source.HOSTS),
    ((BandwidthMeasured, CollectivesMeasured), Source.MEASUREMENTS),
)
_OWN = {
    Strength.PROVES: Bearing.PROVES,
    Strength.SUPPORTS: Bearing.SUPPORTS,
    Strength.HINTS: Bearing.SUPPORTS,
}
_ORDER = tuple(Bearing)


def hear(
    incident: Incident, diagnosis: Diagnosis, findings: Iterable[Finding]
) -> tuple[Statement, ...]:
    """Return the strongest statement of each kind of source, in each bearing on the verdict.

    Args:
        incident: what the findings are about.
        diagnosis: the verdict on it.
        findings: of all rules.

    Returns:
        What proves or supports first, then what contradicts, then what only adds to the picture;
        nothing of a job that ended well. Findings for other causes are left out: they are the
        verdict's candidates.
    """
    if diagnosis.outcome is Outcome.HEALTHY:
        return ()
    strongest: dict[tuple[Source, Bearing], Statement] = {}
    ordered = sorted(findings, key=lambda f: list(Strength).index(f.strength))
    for statement in _statements(incident, diagnosis, ordered):
        strongest.setdefault((statement.source, statement.bearing), statement)
    sources = tuple(Source)
    return tuple(
        sorted(
            strongest.values(),
            key=lambda s: (_ORDER.index(s.bearing), sources.index(s.source)),
        )
    )


def _statements(
    incident: Incident, diagnosis: Diagnosis, findings: Iterable[Finding]
) -> Iterator[Statement]:
    told: dict[Provenance, Source] = {}
    for event in incident.events:
        kind = _kind(event)
        if kind is not Source.LOGS:
            told[event.source] = kind
        elif not event.of_any_text:
            told.setdefault(event.source, kind)
    artifacts: dict[str, set[Source]] = {}
    for source, said in told.items():
        artifacts.setdefault(source.artifact, set()).add(said)
    for finding in findings:
        bearing = None if finding.urgent else _bearing(finding, diagnosis)
        if bearing is None:
            continue
        kinds = set()
        for place in finding.evidence:
            alone = artifacts.get(place.artifact, {Source.LOGS})
            known = told.get(place) or (next(iter(alone)) if len(alone) == 1 else Source.LOGS)
            kinds.add(known)
        for kind in kinds:
            yield Statement(
                source=kind,
                bearing=bearing,
                rule=finding.rule,
                claim=finding.claim,
                ranks=finding.culprits,
                against=finding.against,
                evidence=tuple(p for p in finding.evidence if told.get(p, kind) is kind),
            )


def _bearing(finding: Finding, diagnosis: Diagnosis) -> Bearing | None:
    """How a finding stands to the verdict; None for one of another cause."""
    if finding.cause not in {None, diagnosis.cause}:
        return None
    both_name = len(finding.culprits) > 0 and len(diagnosis.culprits) > 0
    if both_name and not finding.culprits & diagnosis.culprits:
        return Bearing.CONTRADICTS
    if finding.cause is None and not both_name:
        return Bearing.ADDS
    return _OWN[finding.strength]


def _kind(event: Event) -> Source:
    return next((kind for types, kind in _KINDS if isinstance(event, types)), Source.LOGS)
