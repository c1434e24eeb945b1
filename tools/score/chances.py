"""Fits signs to labelled jobs, and counts how often each cause was the truth where one was there.

What is fitted is measured on jobs of sources that were left out of the fit, because jobs of one
source resemble each other. The chances that the judge states are calibrated on those of them
whose cause no rule shows: these are the jobs for which it states any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from score import fitting
from score.corpus import HEALTHY, UNDETERMINED
from score.fitting import Example
from score.marks import Mark
from unhang.model.causes import Cause
from unhang.verdict.chances import NOTHING_FAILED, WORD, Chances, write_chances

_OWN_WEIGHT = 0.4
"""Of the project's scenarios: they show which signs a mechanism leaves, not how often it occurs."""
_LEAST_POOL = 8
"""Jobs that a step of the calibration is taken over."""
_FIRST_CAUSE = 0.7
"""Share of the cause that a label names first; the others that go with it share the rest."""
_CAUSES = frozenset(cause.value for cause in Cause)
"""What the judge can name; a label may say more."""
_PARTS = 10
"""Of the sources: each is left out in turn."""


def fit(marks: Iterable[Mark]) -> Chances:
    """Fit weights to jobs whose truth is known, and count the signs of those that failed."""
    marks = list(marks)
    found = fitting.fit([example for m in marks if (example := _example(m)) is not None])
    signs: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for m in marks:
        for cause, share in _truth(m).items():
            for sign in found.weights.keys() & m.verdict.signs.keys():
                if not sign.startswith(WORD):  # of which there are too many to be told
                    signs[sign][cause] += share
    return replace(found, signs={sign: _rounded(counts) for sign, counts in signs.items()})


def _example(m: Mark) -> Example | None:
    """A job to learn from; one that did not fail is of a class of its own."""
    truth = _truth(m)
    if m.case.healthy:
        truth = {NOTHING_FAILED: _OWN_WEIGHT if m.case.corpus == "own" else 1.0}
    if not truth:
        return None
    return Example(signs=m.verdict.signs, source=m.case.source, truth=truth)


def honest(marks: Sequence[Mark]) -> list[Mark]:
    """Marks whose likely causes were fitted without the jobs of the same source.

    What the judge itself states of a job that it was fitted to is too good. Chances are calibrated
    as the judge's are.
    """
    told = left_out(marks)
    table = Chances(classes=(), base=(), weights={}, calibration=_calibrate(marks, told))
    found = []
    for m in marks:
        cause, raw = told.get((m.case.corpus, m.case.name), (None, 0.0))
        if m.verdict.likely is None or cause is None:
            found.append(m)
            continue
        chance = table.calibrated(raw)
        found.append(replace(m, verdict=replace(m.verdict, likely=cause, chance=chance)))
    return found


def left_out(marks: Sequence[Mark]) -> dict[tuple[str, str], tuple[str, float]]:
    """The likely cause of each external job, fitted without the jobs of its source.

    Returns:
        By corpus and name: the cause, and its chance before calibration.
    """
    sources = sorted({m.case.source for m in marks if m.case.corpus != "own"})
    part = {source: number % _PARTS for number, source in enumerate(sources)}
    found = {}
    for left in range(min(_PARTS, len(sources))):
        inside = [m for m in marks if m.case.corpus != "own" and part[m.case.source] == left]
        without = {id(m) for m in inside}
        chances = fit(m for m in marks if id(m) not in without)
        for m in inside:
            ordered = chances.order(m.verdict.signs)
            if ordered and m.verdict.signs:
                found[m.case.corpus, m.case.name] = ordered[0]
    return found


def is_right(m: Mark, cause: str) -> bool | None:
    """Whether a cause is accepted or was the truth; None where no cause is known."""
    known = (m.case.accept | m.case.truth) - {UNDETERMINED, HEALTHY}
    return cause in known if known else None


def calibrate(marks: Sequence[Mark]) -> tuple[tuple[float, float], ...]:
    """How often the first cause was right on jobs left out, by its chance before calibration."""
    return _calibrate(marks, left_out(marks))


def _calibrate(
    marks: Sequence[Mark], predictions: Mapping[tuple[str, str], tuple[str, float]]
) -> tuple[tuple[float, float], ...]:
    pairs = []
    for m in marks:
        told = predictions.get((m.case.corpus, m.case.name))
        if told is None or m.case.healthy or m.verdict.cause is not None:
            continue
        right = is_right(m, told[0])
        if right is not None:
            pairs.append((told[1], right))
    return _steps(pairs)


def write(path: Path, marks: Sequence[Mark]) -> None:
    """Write the table of facts that the judge reads."""
    jobs = sum(1 for m in marks if _truth(m))
    good = sum(1 for m in marks if m.case.healthy)
    source = (
        f"fitted by `python -m score --chances` to {jobs} labelled failures and {good} jobs that"
        f" did not fail; the project's own scenarios count {_OWN_WEIGHT:g} each, and a cause that a"
        " label names beside the first counts a part"
    )
    steps = tuple((round(told, 3), round(right, 3)) for told, right in calibrate(marks))
    path.write_text(write_chances(replace(fit(marks), calibration=steps), source), encoding="utf-8")


def _truth(m: Mark) -> Mapping[str, float]:
    """Causes of a failed job, with their shares."""
    if m.case.healthy:
        return {}
    if m.case.corpus == "own":
        named = sorted(m.case.causes & _CAUSES)
        return {cause: _OWN_WEIGHT / len(named) for cause in named}
    first, others = m.case.cause, sorted((m.case.truth - {m.case.cause}) & _CAUSES)
    if first not in _CAUSES:
        return {}
    if not others:
        return {first: 1.0}
    return {first: _FIRST_CAUSE, **{c: (1 - _FIRST_CAUSE) / len(others) for c in others}}


def _rounded(counts: Mapping[str, float]) -> dict[str, float]:
    return {cause: round(n, 2) for cause, n in sorted(counts.items())}


def _steps(pairs: Iterable[tuple[float, bool]]) -> tuple[tuple[float, float], ...]:
    """Isotonic regression: chances that never fall, each the share right of those pooled in it.

    Returns:
        Pairs of a chance before calibration, the middle of its pool, and after it. Each pool has a
        right and a wrong answer added, so that few jobs make nothing certain.
    """
    pools: list[list[float]] = []  # sum of chances, right, count
    for chance, right in sorted(pairs):
        pools.append([chance, float(right), 1.0])
        while len(pools) > 1 and (
            pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2] or pools[-2][2] < _LEAST_POOL
        ):
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    if len(pools) > 1 and pools[-1][2] < _LEAST_POOL:
        last = pools.pop()
        pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    return tuple((told / n, (right + 1) / (n + 2)) for told, right, n in pools)
