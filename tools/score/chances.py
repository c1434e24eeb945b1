"""Counts signs over labelled jobs: how often each cause was the truth where a sign was there.

What is counted is measured on jobs of sources that were left out of the counting, because jobs of
one source resemble each other. The chances that the judge states are calibrated on those of them
whose cause no rule shows: these are the jobs for which it states any.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from score.corpus import HEALTHY, UNDETERMINED
from score.marks import Mark
from unhang.verdict.likely import Chances

_OWN_WEIGHT = 0.4
"""Of the project's scenarios: they show which signs a mechanism leaves, not how often it occurs."""
_FIRST_CAUSE = 0.7
"""Share of the cause that a label names first; the others that go with it share the rest."""
_STEPS, _RATE = 2_000, 0.05


def count(marks: Iterable[Mark]) -> Chances:
    """Count causes and signs over failed jobs whose truth is known."""
    causes: dict[str, float] = defaultdict(float)
    signs: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for m in marks:
        for cause, share in _truth(m).items():
            causes[cause] += share
            for sign in m.verdict.signs:
                signs[sign][cause] += share
    return Chances(causes=causes, signs=signs)


def honest(marks: Sequence[Mark]) -> list[Mark]:
    """Marks whose likely causes were counted without the jobs of the same source.

    What the judge itself states of a job that was counted is too good. Chances are calibrated as
    the judge's are: two numbers for all jobs.
    """
    told, (offset, slope) = left_out(marks), calibrate(marks)
    found = []
    for m in marks:
        cause, raw = told.get((m.case.corpus, m.case.name), (None, 0.0))
        if m.verdict.likely is None or cause is None:
            found.append(m)
            continue
        chance = 1 / (1 + math.exp(-(offset + slope * _odds(raw))))
        found.append(replace(m, verdict=replace(m.verdict, likely=cause, chance=chance)))
    return found


def left_out(marks: Sequence[Mark]) -> dict[tuple[str, str], tuple[str, float]]:
    """The likely cause of each external job, counted without the jobs of its source.

    Returns:
        By corpus and name: the cause, and its chance before calibration.
    """
    sources: dict[tuple[str, str], list[Mark]] = defaultdict(list)
    for m in marks:
        sources[m.case.corpus, m.case.source].append(m)
    found = {}
    for (corpus, _), own in sources.items():
        if corpus == "own":
            continue
        inside = {id(m) for m in own}
        chances = count(m for m in marks if id(m) not in inside)
        for m in own:
            if m.verdict.signs:
                found[m.case.corpus, m.case.name] = chances.order(m.verdict.signs)[0]
    return found


def is_right(m: Mark, cause: str) -> bool | None:
    """Whether a cause is accepted or was the truth; None where no cause is known."""
    known = (m.case.accept | m.case.truth) - {UNDETERMINED, HEALTHY}
    return cause in known if known else None


def calibrate(marks: Sequence[Mark]) -> tuple[float, float]:
    """Offset and slope that fit stated chances to what was right on jobs left out."""
    predictions = left_out(marks)
    pairs = []
    for m in marks:
        told = predictions.get((m.case.corpus, m.case.name))
        if told is None or m.case.healthy or m.verdict.cause is not None:
            continue
        right = is_right(m, told[0])
        if right is not None:
            pairs.append((_odds(told[1]), right))
    return _fit(pairs)


def _odds(chance: float) -> float:
    inside = min(max(chance, 0.001), 0.999)
    return math.log(inside / (1 - inside))


def write(path: Path, marks: Sequence[Mark]) -> None:
    """Write the table of facts that the judge reads."""
    chances = count(marks)
    offset, slope = calibrate(marks)
    jobs = sum(1 for m in marks if _truth(m))
    data = {
        "source": f"counted by `python -m score --chances` over {jobs} labelled failures; the"
        f" project's own scenarios count {_OWN_WEIGHT:g} each, and a cause that a label names"
        " beside the first counts a part",
        "calibration": [round(offset, 3), round(slope, 3)],
        "causes": _rounded(chances.causes),
        "signs": {name: _rounded(chances.signs[name]) for name in sorted(chances.signs)},
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _truth(m: Mark) -> Mapping[str, float]:
    """Causes of a failed job, with their shares."""
    if m.case.healthy:
        return {}
    if m.case.corpus == "own":
        named = sorted(m.case.causes)
        return {cause: _OWN_WEIGHT / len(named) for cause in named}
    first, others = m.case.cause, sorted(m.case.truth - {m.case.cause})
    if first is None:
        return {}
    if not others:
        return {first: 1.0}
    return {first: _FIRST_CAUSE, **{c: (1 - _FIRST_CAUSE) / len(others) for c in others}}


def _rounded(counts: Mapping[str, float]) -> dict[str, float]:
    return {cause: round(n, 2) for cause, n in sorted(counts.items())}


def _fit(pairs: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Logistic regression by gradient descent; nothing to fit leaves chances as they are."""
    offset, slope = 0.0, 1.0
    for _ in range(_STEPS if pairs else 0):
        down_offset = down_slope = 0.0
        for odds, right in pairs:
            error = 1 / (1 + math.exp(-(offset + slope * odds))) - right
            down_offset += error
            down_slope += error * odds
        offset -= _RATE * down_offset / len(pairs)
        slope -= _RATE * down_slope / len(pairs)
    return offset, slope
