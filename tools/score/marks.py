"""Holds one verdict against one label."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from score.corpus import HEALTHY, UNDETERMINED, Case
from score.verdicts import Stated, Verdict

_WITHOUT_CAUSE = frozenset({UNDETERMINED, "located"})


NOTHING_FOUND = Verdict(outcome=UNDETERMINED)


class Result(enum.Enum):
    """How a verdict compares with what a fair judge says."""

    RIGHT = "right"
    MISSED = "missed"
    """No cause although the files suffice: honest, but no help."""
    ALL_CLEAR = "all-clear"
    """A failed job is called healthy."""
    WRONG = "wrong"
    """A cause that is not accepted, though nobody would call it false blame."""
    FALSE_BLAME = "false blame"
    BROKEN = "broken"
    """An exception, a dead process or the time limit."""


class Guilty(enum.Enum):
    """How the named ranks compare with those that the files prove."""

    EXACT = "exact"
    MISSED = "none named"
    PARTIAL = "some of them"
    INNOCENT = "an innocent one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One case with its verdict and what they make together.

    Attributes:
        found: what the keyword search answers.
    """

    case: Case
    verdict: Verdict
    result: Result
    found: Verdict = NOTHING_FOUND

    @property
    def known(self) -> frozenset[str]:
        """Causes that are accepted, or that were told afterwards; empty where nobody knows."""
        return self.case.causes | self.case.truth

    @property
    def searched(self) -> Mark:
        """The keyword search's answer, held against the same label."""
        return mark(self.case, self.found)

    @property
    def top_three(self) -> bool:
        """An accepted cause is among the three best candidates, or the verdict is right."""
        causes = {c.cause for c in self.verdict.candidates[:3]}
        return self.result is Result.RIGHT or bool(causes & self.case.causes)

    @property
    def guilty(self) -> Guilty | None:
        """None where the label names no culprits."""
        expected, named = self.case.culprits, self.verdict.culprits
        if expected is None:
            return None
        if named == expected and self.verdict.error is None:
            return Guilty.EXACT
        if not named:
            return Guilty.MISSED
        return Guilty.PARTIAL if named < expected else Guilty.INNOCENT

    @property
    def complaints(self) -> tuple[str, ...]:
        """Everything that is not as the label has it, beyond the cause."""
        case, verdict = self.case, self.verdict
        found = [f"{code} is silent" for code in sorted(case.codes_must - set(verdict.fired))]
        found += [f"{code} fires" for code in sorted(case.codes_must_not & set(verdict.fired))]
        if self.guilty not in (None, Guilty.EXACT):
            found.append(f"culprits {_ranks(verdict.culprits)}, not {_ranks(case.culprits)}")
        if case.phase is not None and case.phase != verdict.phase:
            found.append(f"phase {verdict.phase}, not {case.phase}")
        return tuple(found)

    @property
    def perfect(self) -> bool:
        """Right in everything the label speaks of."""
        return self.result is Result.RIGHT and not self.complaints

    @property
    def best(self) -> Stated | None:
        """The first candidate, whether or not it was good enough for a verdict."""
        return next(iter(self.verdict.candidates), None)

    @property
    def contested(self) -> bool:
        """Another cause is backed as strongly as the first one."""
        strengths = [c.strength for c in self.verdict.candidates[:2]]
        return len(strengths) == 2 and strengths[0] == strengths[1]


def mark(case: Case, verdict: Verdict, found: Verdict | None = None) -> Mark:
    """Compare a verdict with its label; `found` is the keyword search's answer."""
    result = _result(case, verdict)
    return Mark(case=case, verdict=verdict, result=result, found=found or NOTHING_FOUND)


def _result(case: Case, verdict: Verdict) -> Result:
    if verdict.error is not None:
        return Result.BROKEN
    if verdict.cause is not None:
        return _result_of_cause(case, verdict.cause)
    if verdict.outcome == HEALTHY:
        return Result.RIGHT if HEALTHY in case.accept else Result.ALL_CLEAR
    assert verdict.outcome in _WITHOUT_CAUSE
    return Result.RIGHT if UNDETERMINED in case.accept else Result.MISSED


def _result_of_cause(case: Case, cause: str) -> Result:
    if cause in case.accept:
        return Result.RIGHT
    if cause in case.must_not or case.healthy:
        return Result.FALSE_BLAME
    return Result.WRONG


def _ranks(ranks: frozenset[int] | None) -> str:
    return "none" if not ranks else ",".join(map(str, sorted(ranks)))
