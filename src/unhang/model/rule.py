"""A rule: a pure function from an incident to findings, with a stable code.

The module has what a rule is written with, so that a rule imports it in one line.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from types import EllipsisType
from typing import Protocol

from unhang.model.causes import Cause
from unhang.model.events.meaning import Fact
from unhang.model.finding import Collect, Finding, Strength
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Call, Incident
from unhang.model.phases import Phase
from unhang.model.provenance import Message, Provenance, say
from unhang.model.time import Instant

__all__ = [
    "Cause",
    "Fact",
    "Finding",
    "Incident",
    "Message",
    "Rule",
    "Sourced",
    "Status",
    "Strength",
    "rule",
    "say",
]

_MOST_EVIDENCE = 4
"""Lines that a finding quotes."""


class Sourced(Protocol):
    """Something that stands in an artifact: an event, a failure, a stack."""

    @property
    def source(self) -> Provenance:
        """Where it stands."""


class Status(enum.Enum):
    """How settled a rule is."""

    STABLE = "stable"
    PREVIEW = "preview"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One extension of the judge; calling it runs its check.

    Attributes:
        code: stable, such as `LOC001`.
        name: kebab-case; states the observed condition, never the remedy.
        cause: the cause its findings claim; None for locating rules.
        since: release that brought it.
        needs: facts without which it cannot run (any one of them suffices).
        explains: causes whose findings are mere consequences if its own holds.
        check: the rule itself.
    """

    code: str
    name: str
    cause: Cause | None
    since: str
    status: Status
    needs: frozenset[Fact]
    explains: frozenset[Cause]
    check: Callable[[Incident], Iterator[Finding]]

    def __call__(self, incident: Incident) -> Iterator[Finding]:
        """Run the check."""
        return self.check(incident)

    def finding(
        self,
        strength: Strength,
        *,
        claim: Message,
        why: Message,
        evidence: Iterable[Provenance | Sourced],
        cause: Cause | EllipsisType | None = ...,
        rival: Message | None = None,
        against: Message | None = None,
        culprits: Ranks = NO_RANKS,
        culprit_hosts: frozenset[str] = frozenset(),
        phase: Phase | None = None,
        explains: frozenset[Cause] | None = None,
        at: Instant | None = None,
        call: Call | None = None,
        collect: tuple[Collect, ...] = (),
        urgent: bool = False,
    ) -> Finding:
        """Return a finding of this rule; `Finding` describes most arguments.

        A `rival` is what else explains the evidence: it speaks against the claim before anything
        else does, and makes it a hint. The evidence is lines, or what was read from them: the
        first few are kept. Without a cause it is the rule's own; None says who and where alone.
        What the rule explains, its hints do not.
        """
        strength = strength if rival is None else Strength.HINTS
        explained = self.explains if explains is None else explains
        sources = (e if isinstance(e, Provenance) else e.source for e in evidence)
        return Finding(
            rule=self.code,
            cause=self.cause if isinstance(cause, EllipsisType) else cause,
            strength=strength,
            claim=claim,
            why=why,
            against=rival or against,
            culprits=culprits,
            culprit_hosts=culprit_hosts,
            phase=phase,
            explains=frozenset() if strength is Strength.HINTS else explained,
            at=at,
            call=call,
            evidence=tuple(dict.fromkeys(sources))[:_MOST_EVIDENCE],
            collect=collect,
            urgent=urgent,
        )


def rule(
    code: str,
    name: str,
    /,
    *,
    cause: Cause | None = None,
    needs: Set[Fact],
    since: str = "0.1.0",
    status: Status = Status.STABLE,
    explains: Set[Cause] = frozenset(),
) -> Callable[[Callable[[Incident], Iterator[Finding]]], Rule]:
    """Make a rule of the function `check` of a module; see `Rule` for the arguments.

    `unhang.rules` finds it by that name. The module's docstring is the rule's manual page.
    """

    def made(check: Callable[[Incident], Iterator[Finding]]) -> Rule:
        return Rule(
            code=code,
            name=name,
            cause=cause,
            since=since,
            status=status,
            needs=frozenset(needs),
            explains=frozenset(explains),
            check=check,
        )

    return made
