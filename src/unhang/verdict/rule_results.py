"""From an incident to the findings of all rules that can run, and what the others lacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unhang.model.finding import Finding
from unhang.model.guard import Guard
from unhang.model.incident import Incident
from unhang.model.provenance import Problem
from unhang.rules import RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the rules say, which of them broke, and which could not run."""

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    missing_facts: Mapping[str, tuple[str, ...]]


def judge(incident: Incident) -> Judgement:
    """Run every rule whose facts are there; a rule that breaks costs only itself."""
    present = {kind.fact for kind in incident.index.classes}
    findings: list[Finding] = []
    guard = Guard()
    missing: dict[str, tuple[str, ...]] = {}
    for rule in RULES:
        if rule.needs and not rule.needs & present:
            missing[rule.code] = tuple(sorted(fact.value for fact in rule.needs))
            continue
        guard.call(rule.code, None, findings.extend, rule(incident))
    return Judgement(findings=tuple(findings), problems=guard.problems, missing_facts=missing)
