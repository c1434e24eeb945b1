"""How much each sign says for each cause, as it was fitted to labelled jobs.

`settings/data/chances.json` is written by `python -m score --chances`: a regularised softmax
regression over signs, so that signs which go together share what they say. Jobs that did not fail
take part as a class of their own: what stands in good logs as well speaks for no cause.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files

NOTHING_FAILED = "nothing failed"
"""The class of jobs that did not fail, beside the causes."""
WORD = "word: "
"""How the names of signs begin that are words of a line; there are many of them in one job."""
_ALL_WORDS = 3.0
"""Length of the vector of all words of a job: its many words weigh as a few other signs do."""


@dataclass(frozen=True, kw_only=True)
class Chances:
    """What was fitted and counted over labelled jobs.

    Attributes:
        classes: the causes, and `NOTHING_FAILED`; weights are in this order.
        base: what speaks for each class before any sign is seen, as a logarithm of odds.
        weights: what a sign adds to it, by sign.
        signs: failed jobs by cause, for every sign: what a reader is told of it.
        calibration: pairs of the chance of the first cause as the signs add up, rising, and of how
            often such a cause was right; between them the line is straight.
    """

    classes: tuple[str, ...]
    base: tuple[float, ...]
    weights: Mapping[str, tuple[float, ...]]
    signs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    calibration: tuple[tuple[float, float], ...] = ()

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.classes)}

    def order(self, signs: Collection[str]) -> list[tuple[str, float]]:
        """Causes with their chances if the job failed, the likeliest first, which is calibrated."""
        shares = self._shares(signs)
        shares.pop(NOTHING_FAILED, None)
        total = sum(shares.values())
        if not total:
            return []
        ordered = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        chance = ordered[0][1] / total
        first = self.calibrated(chance)
        rest = (1 - first) / (1 - chance) if chance < 1 else 0.0
        return [(ordered[0][0], first), *((name, n / total * rest) for name, n in ordered[1:])]

    def of_no_failure(self, signs: Collection[str]) -> float:
        """The chance that a job of such signs did not fail at all."""
        return self._shares(signs).get(NOTHING_FAILED, 0.0)

    def _shares(self, signs: Collection[str]) -> dict[str, float]:
        odds = list(self.base)
        for sign, size in sizes(s for s in signs if s in self.weights).items():
            for place, weight in enumerate(self.weights[sign]):
                odds[place] += size * weight
        most = max(odds, default=0.0)
        raw = [math.exp(value - most) for value in odds]
        total = sum(raw)
        return {name: n / total for name, n in zip(self.classes, raw, strict=True)}

    def said(self, signs: Collection[str], cause: str) -> dict[str, float]:
        """What each sign that is known adds for a cause; below 0 it speaks against it."""
        place = self._place.get(cause)
        if place is None:
            return {}
        known = sizes(s for s in signs if s in self.weights)
        return {sign: size * self.weights[sign][place] for sign, size in known.items()}

    def calibrated(self, chance: float) -> float:
        """How often a first cause of such a chance was right."""
        if not self.calibration:
            return chance
        before = (0.0, self.calibration[0][1])
        for point in self.calibration:
            if chance < point[0]:
                share = (chance - before[0]) / (point[0] - before[0])
                return before[1] + share * (point[1] - before[1])
            before = point
        return before[1]


def sizes(signs: Iterable[str]) -> dict[str, float]:
    """How large each sign of one job is: a sign counts in full, a word less beside many others."""
    known = list(signs)
    words = sum(1 for sign in known if sign.startswith(WORD))
    of_word = _ALL_WORDS / math.sqrt(words) if words else 0.0
    return {sign: of_word if sign.startswith(WORD) else 1.0 for sign in known}


@cache
def load_chances() -> Chances:
    """What the package knows."""
    text = files("unhang.settings").joinpath("data/chances.json").read_text("utf-8")
    return read_chances(text)


def read_chances(text: str) -> Chances:
    """Read what `write_chances` wrote."""
    data = json.loads(text)
    return Chances(
        classes=tuple(data["classes"]),
        base=tuple(weight / 100 for weight in data["base"]),
        weights={n: tuple(w / 100 for w in s["weights"]) for n, s in data["signs"].items()},
        signs={name: sign["jobs"] for name, sign in data["signs"].items()},
        calibration=tuple((float(told), float(right)) for told, right in data["calibration"]),
    )


def write_chances(chances: Chances, source: str) -> str:
    """Write them as JSON, one sign a line; `source` tells where they come from."""

    def line(value: object) -> str:
        return json.dumps(value, separators=(",", ":"))

    def hundredths(weights: Iterable[float]) -> list[int]:
        return [round(100 * weight) for weight in weights]

    signs = ",\n".join(
        f"  {line(name)}: "
        + line({"jobs": chances.signs.get(name, {}), "weights": hundredths(weights)})
        for name, weights in sorted(chances.weights.items())
    )
    return (
        f'{{\n "source": {line(source)},\n "classes": {line(chances.classes)},\n'
        f' "calibration": {line(chances.calibration)},\n "base": {line(hundredths(chances.base))},'
        f'\n "signs": {{\n{signs}\n }}\n}}\n'
    )
