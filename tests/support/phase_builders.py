"""Builders of marks, bars and stacks for the slow rules."""

from __future__ import annotations

from support.builders import at, by, incident, source
from unhang.model.events import Event, PhaseMark, Progress, StackSeen
from unhang.model.finding import Finding, Strength
from unhang.model.phases import Phase, PhaseEdge
from unhang.model.rule import Rule


def begun(
    phase: Phase,
    rank: int | None = None,
    *,
    edge: PhaseEdge = PhaseEdge.BEGIN,
    line: int = 1,
    when: float | None = None,
    framework: str | None = None,
) -> PhaseMark:
    """A phase mark."""
    return PhaseMark(
        source=source(line),
        origin=by(rank),
        at=None if when is None else at(when),
        phase=phase,
        edge=edge,
        detail="some work",
        framework=framework,
    )


def bar(
    phase: Phase | None,
    *,
    done: int = 47,
    total: int | None = 100,
    elapsed_s: float | None = None,
    remaining_s: float | None = None,
    rank: int | None = None,
    line: int = 1,
) -> Progress:
    """A progress bar."""
    return Progress(
        source=source(line),
        origin=by(rank),
        label="some work",
        done=done,
        total=total,
        elapsed_s=elapsed_s,
        remaining_s=remaining_s,
        phase=phase,
    )


def stack(frame: str, phase: Phase | None, *, waiting: bool = False, line: int = 1) -> StackSeen:
    """A line of a live stack."""
    return StackSeen(source=source(line), origin=by(), frame=frame, phase=phase, waiting=waiting)


def findings(rule: Rule, *events: Event) -> list[Finding]:
    """What a rule says about the events."""
    return list(rule.check(incident(*events)))


def strength(rule: Rule, *events: Event) -> Strength | None:
    """The strength of the one finding, None where there is none."""
    found = findings(rule, *events)
    assert len(found) < 2
    return found[0].strength if found else None
