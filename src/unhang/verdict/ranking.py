"""From findings to ranked causes and one verdict: the only file with weights.

The numbers are fitted to the labelled corpus (`make score` prints what is needed to fit them):
of the verdicts given at 0.9 nine in ten are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from unhang.model.causes import Cause
from unhang.model.diagnosis import Candidate, Diagnosis, Outcome
from unhang.model.events import (
    Finished,
    HoldUp,
    ProcessEnded,
    Stage,
    SuspicionReason,
    UnreadLine,
)
from unhang.model.finding import Finding, Strength
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Call, Incident, Manner, ranks_of
from unhang.model.provenance import Message, Provenance
from unhang.model.stack_states import Doing
from unhang.rules.shared import order
from unhang.verdict.culprits import OUT_OF_STEP, as_held, deduce, undo_tie
from unhang.verdict.doubts import PERFORMANCE, doubted

_ORDER = {Strength.PROVES: 3, Strength.SUPPORTS: 2, Strength.HINTS: 1}

# Share of right verdicts by the strength of the best finding, alone or against a rival cause of
# the same strength.
_ALONE = {Strength.PROVES: 0.95, Strength.SUPPORTS: 0.8, Strength.HINTS: 0.35}
_CONTESTED = {Strength.PROVES: 0.75, Strength.SUPPORTS: 0.55, Strength.HINTS: 0.2}

THRESHOLD = 0.5
"""Below this confidence the outcome is not `cause`."""

_FAILED = frozenset({SuspicionReason.GONE, SuspicionReason.RAISED})


@dataclass(frozen=True, slots=True)
class _Case:
    """All findings for one cause, the strongest first."""

    cause: Cause
    findings: tuple[Finding, ...]

    @property
    def best(self) -> Finding:
        return self.findings[0]

    @property
    def strength(self) -> int:
        return _ORDER[self.best.strength]


def rank(incident: Incident, findings: Sequence[Finding]) -> Diagnosis:
    """Order the causes and decide what may be said.

    Args:
        incident: what the findings are about.
        findings: of all rules, in the order of the rules.

    Returns:
        A diagnosis without story, fixes and advice on what to collect.
    """
    warnings = tuple(f for f in findings if f.urgent)
    findings = [f for f in findings if not f.urgent]
    diagnosis = _ranked(incident, findings)
    return replace(
        diagnosis,
        warnings=warnings,
        collect_next=(*diagnosis.collect_next, *(c for w in warnings for c in w.collect)),
    )


def _ranked(incident: Incident, findings: Sequence[Finding]) -> Diagnosis:
    """The verdict by the findings on who and why."""
    finished = incident.finished and not any(event.stays for event in incident.all(HoldUp))
    if finished:
        findings = [f for f in findings if f.cause in PERFORMANCE]
    findings = _as_watched(incident, doubted(incident, findings))
    cases = _order(_without_echoes(_cases(findings)))
    located = _located(findings)
    candidates = tuple(
        _candidate(
            incident,
            case,
            _confidence(case, cases),
            located if case is cases[0] and _may_be_one(incident, case, located) else None,
        )
        for case in cases
    )
    if candidates and candidates[0].confidence >= THRESHOLD:
        return _verdict(incident, cases[0], candidates)
    if finished or (not findings and _ended_well(incident)):
        return _without_cause(incident, Outcome.HEALTHY, Message(key="summary.healthy"), ())
    if located is not None:
        return _without_cause(incident, Outcome.LOCATED, located.claim, candidates, located)
    summary = _remark(findings) or _undetermined(incident)
    return _without_cause(incident, Outcome.UNDETERMINED, summary, candidates)


def _as_watched(incident: Incident, findings: Sequence[Finding]) -> list[Finding]:
    """Without what accuses others than those whom the live judge saw holding the others up.

    It watched every process while the job ran; the order of lines and dumps of several moments are
    read afterwards. What proves a cause by itself stays.
    """
    told = [e for e in incident.all(HoldUp) if e.stage is not Stage.WATCHED and e.culprits]
    seen = [e for e in told if e.charge is not SuspicionReason.NEVER_CAME]
    sure = [e for e in seen if e.stage is Stage.CONFIRMED]
    named = NO_RANKS.union(*(event.culprits for event in sure or seen))
    if not named:
        return list(findings)
    least = _ORDER[Strength.PROVES if sure else Strength.SUPPORTS]
    return [
        finding
        for finding in findings
        if not finding.culprits
        or not finding.culprits.isdisjoint(named)
        or _ORDER[finding.strength] > least
        or (finding.cause is not None and finding.strength is Strength.PROVES)
    ]


def _cases(findings: Iterable[Finding]) -> list[_Case]:
    """Findings by cause, the strongest of each cause first."""
    by_cause: dict[Cause, list[Finding]] = {}
    for finding in findings:
        if finding.cause is not None:
            by_cause.setdefault(finding.cause, []).append(finding)
    return [
        _Case(cause, tuple(sorted(found, key=lambda f: -_ORDER[f.strength])))
        for cause, found in by_cause.items()
    ]


def _without_echoes(cases: list[_Case]) -> list[_Case]:
    """Drop the causes that a finding of another cause explains as its consequence.

    A claim is explained away only by one that is at least as strong; where two explain each
    other the stronger, then the earlier one stays.
    """
    kept = list(cases)
    for case in sorted(cases, key=lambda c: -c.strength):
        if case not in kept:
            continue
        explained = {
            cause: _ORDER[f.strength]
            for f in case.findings
            for cause in f.explains
            if f.strength is not Strength.HINTS
        }
        kept = [c for c in kept if c is case or c.strength > explained.get(c.cause, 0)]
    return kept


def _order(cases: Sequence[_Case]) -> list[_Case]:
    """Strongest first; then by how many rules agree; then the earliest."""
    ordered = sorted(cases, key=lambda c: (-c.strength, -len({f.rule for f in c.findings})))
    if len(ordered) > 1 and ordered[0].strength == ordered[1].strength:
        rivals = [c for c in ordered if c.strength == ordered[0].strength]
        first = _earliest(rivals)
        if first is not None:
            ordered.remove(first)
            ordered.insert(0, first)
    return ordered


def _earliest(cases: Sequence[_Case]) -> _Case | None:
    """The case whose fact lies clearly before those of all others, or None."""
    for case in cases:
        gaps = [_gap_s(case, other) for other in cases if other is not case]
        if all(gap is not None and gap > 1 for gap in gaps):
            return case
    return None


def _gap_s(case: _Case, later: _Case) -> float | None:
    if case.best.at is None or later.best.at is None:
        return None
    return later.best.at.since(case.best.at)


def _confidence(case: _Case, cases: Sequence[_Case]) -> float:
    rivals = [c for c in cases if c is not case and c.strength >= case.strength]
    table = _CONTESTED if rivals else _ALONE
    return table[case.best.strength]


def _located(findings: Iterable[Finding]) -> Finding | None:
    """The strongest finding that says who and where."""
    found = [
        f for f in findings if f.cause is None and f.culprits and f.strength is not Strength.HINTS
    ]
    return max(found, key=lambda f: _ORDER[f.strength], default=None)


def _remark(findings: Iterable[Finding]) -> Message | None:
    """What is known, best of a wait, where neither who nor why is."""
    found = [
        f
        for f in findings
        if f.cause is None and not f.culprits and f.strength is not Strength.HINTS
    ]
    best = max(found, key=lambda f: (f.call is not None, _ORDER[f.strength]), default=None)
    return None if best is None else best.claim


def _may_be_one(incident: Incident, case: _Case, located: Finding | None) -> bool:
    """Whether who was located can be who did it: a cause on one host is of no rank of another.

    Ranks that are out of step fail where they meet: who fails first need not be who strayed.
    """
    if located is None:
        return False
    if case.cause in OUT_OF_STEP and located.culprits <= _failed(incident):
        return False
    hosts = _hosts(incident, located.culprits)
    return not hosts or not case.best.culprit_hosts or bool(hosts & case.best.culprit_hosts)


def _failed(incident: Incident) -> Ranks:
    """Ranks that failed, as they say or as the live judge saw it."""
    seen = (e.culprits for e in incident.all(HoldUp) if e.charge in _FAILED)
    return ranks_of(incident.failures).union(*seen)


def _candidate(
    incident: Incident, case: _Case, confidence: float, located: Finding | None
) -> Candidate:
    best = case.best
    culprits = as_held(incident, best)
    culprits = culprits or undo_tie(incident, case.cause, _named(case))
    culprits = culprits or _as_confirmed(incident, case)
    if not culprits and located is not None:
        culprits = located.culprits
    if not culprits and best.strength is not Strength.HINTS:
        culprits = deduce(incident, case.cause, best)
    return Candidate(
        cause=case.cause,
        confidence=confidence,
        strength=best.strength,
        culprits=culprits,
        culprit_hosts=best.culprit_hosts,
        claim=best.claim,
        why=best.why,
        against=best.against,
        rules=tuple(dict.fromkeys(f.rule for f in case.findings)),
        evidence=tuple(dict.fromkeys(p for f in case.findings for p in f.evidence)),
        phase=next((f.phase for f in case.findings if f.phase is not None), None),
    )


def _named(case: _Case) -> Ranks:
    """Culprits of the best finding, or of one just as strong of the same cause."""
    equal = (f.culprits for f in case.findings if f.strength is case.best.strength)
    return next((culprits for culprits in equal if culprits), NO_RANKS)


def _as_confirmed(incident: Incident, case: _Case) -> Ranks:
    """Whom the live judge named for it: what proves a cause afterwards may tell nobody's rank."""
    sure = (e.culprits for e in incident.all(HoldUp) if e.stage is Stage.CONFIRMED)
    named = NO_RANKS.union(*sure)
    told = (f.culprits for f in case.findings if f.culprits and f.culprits <= named)
    return next(told, NO_RANKS)


def _verdict(incident: Incident, case: _Case, candidates: tuple[Candidate, ...]) -> Diagnosis:
    best = candidates[0]
    return Diagnosis(
        outcome=Outcome.CAUSE,
        cause=best.cause,
        confidence=best.confidence,
        strength=best.strength,
        culprits=best.culprits,
        culprit_hosts=best.culprit_hosts | _hosts(incident, best.culprits),
        victims=_victims(incident, best.culprits),
        phase=best.phase,
        call=case.best.call or _first_call(incident),
        summary=best.claim,
        candidates=candidates,
        collect_next=tuple(c for f in case.findings for c in f.collect),
        coverage=incident.coverage,
        versions=incident.versions,
        framework=incident.framework,
        incarnation=incident.incarnation,
        incarnations=incident.incarnations,
    )


def _without_cause(
    incident: Incident,
    outcome: Outcome,
    summary: Message,
    candidates: tuple[Candidate, ...],
    located: Finding | None = None,
) -> Diagnosis:
    culprits = NO_RANKS if located is None else located.culprits
    return Diagnosis(
        outcome=outcome,
        confidence=candidates[0].confidence if candidates else 0.0,
        strength=None if located is None else located.strength,
        culprits=culprits,
        culprit_hosts=_hosts(incident, culprits),
        victims=_victims(incident, culprits) if outcome is not Outcome.HEALTHY else NO_RANKS,
        phase=None if located is None else located.phase,
        call=_first_call(incident) if located is None else located.call or _first_call(incident),
        summary=summary,
        candidates=candidates,
        located=located,
        unread=() if outcome is Outcome.HEALTHY else _unread(incident),
        collect_next=() if located is None else located.collect,
        coverage=incident.coverage,
        versions=incident.versions,
        framework=incident.framework,
        incarnation=incident.incarnation,
        incarnations=incident.incarnations,
    )


def _first_call(incident: Incident) -> Call | None:
    return incident.calls[0] if incident.calls else None


def _victims(incident: Incident, culprits: Ranks) -> Ranks:
    """Ranks that wait in a stuck call, or end because another rank is gone or late."""
    waiting = incident.gave_up
    if incident.recorded is not None:
        waiting |= incident.recorded.held_up
    ended = (f for f in incident.failures if f.manner in (Manner.WATCHDOG, Manner.PEER))
    stood = (s.rank for s in incident.stances if s.doing is Doing.WAITS)
    held_up = (e.victims for e in incident.all(HoldUp) if e.stage is not Stage.WATCHED)
    waiting = waiting.union(*held_up)
    return (waiting | ranks_of(ended) | {r for r in stood if r is not None}) - culprits


def _hosts(incident: Incident, culprits: Ranks) -> frozenset[str]:
    facts = (incident.roster.get(rank) for rank in culprits)
    return frozenset(f.host for f in facts if f is not None and f.host is not None)


def _ended_well(incident: Incident) -> bool:
    """Nothing ended early or with an error, no watchdog went off, and the work is told done."""
    ends = (f for f in incident.failures if f.own or f.manner is Manner.WATCHDOG)
    quiet = not incident.calls and all(order.survived(incident, end.events[0]) for end in ends)
    failed = any(e.exit_code not in (None, 0) and not e.worker for e in incident.all(ProcessEnded))
    return quiet and not failed and len(incident.all(Finished)) > 0


def _undetermined(incident: Incident) -> Message:
    call = _first_call(incident)
    if call is not None and call.first is not None and not call.joined:
        op = call.first.op or "a collective"
        return Message(key="summary.undetermined_unnamed", values={"op": op})
    if call is not None and call.first is not None:
        return Message(
            key="summary.undetermined_call",
            values={
                "ranks": call.joined,
                "op": call.first.op or "a collective",
            },
        )
    if incident.failures:
        return Message(key="summary.undetermined")
    unread = _unread(incident)
    if unread:
        return Message(key="summary.not_understood", values={"count": len(unread)})
    return Message(key="summary.no_failure")


_QUOTED = 5


def _unread(incident: Incident) -> tuple[Provenance, ...]:
    """Lines that look like a failure and explain nothing yet, the likeliest first.

    Those that no parser understood, then those that were read and that no rule makes anything of.
    """
    silent = not incident.failures and not incident.calls
    lines = [line for line in incident.all(UnreadLine) if silent or not line.read]
    lines.sort(key=lambda line: (line.read, -line.weight))
    return tuple(line.source for line in lines[:_QUOTED])
