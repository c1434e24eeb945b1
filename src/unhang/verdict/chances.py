"""How much each sign says for each cause, as it was fitted to labelled jobs.

`settings/data/chances.json` is written by `python -m score --chances`: a regularised softmax
regression over signs, so that signs which go together share what they say. Jobs that did not fail
take part as a class of their own: what stands in good logs as well speaks for no cause.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files

from unhang.model.likely import Sign

NOTHING_FAILED = "nothing failed"
"""The class of jobs that did not fail, beside the causes."""
WORD = "word: "
"""How the names of signs begin that are words of the logs; there are many of them in one job."""
_ALL_WORDS = 3.0
"""Length of the vector of all words of a job: its many words weigh as a few other signs do."""

LEAST_WORDS = 30
"""Words of a job that are known: fewer tell no kind of log from another."""

Counts = Mapping[str, int]
"""Signs of a job by name, with the lines that hold one that is a word."""


@dataclass(frozen=True, kw_only=True)
class Chances:
    """What was fitted and counted over labelled jobs.

    Attributes:
        classes: the causes, and `NOTHING_FAILED`; weights are in this order.
        base: what speaks for each class before any sign is seen, as a logarithm of odds.
        weights: what a sign adds to it, by sign.
        rarity: how much a word counts by the share of jobs that have it, by sign; of words alone.
        signs: failed jobs by cause, for every sign but words: what a reader is told of it.
        calibration: pairs of the chance of the first cause as the signs add up, rising, and of how
            often such a cause was right; between them the line is straight.
    """

    classes: tuple[str, ...]
    base: tuple[float, ...]
    weights: Mapping[str, tuple[float, ...]]
    rarity: Mapping[str, float] = field(default_factory=dict)
    signs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    calibration: tuple[tuple[float, float], ...] = ()

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.classes)}

    def order(self, signs: Counts) -> list[tuple[str, float]]:
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

    def of_no_failure(self, signs: Counts) -> float:
        """The chance that a job of such signs did not fail at all."""
        return self._shares(signs).get(NOTHING_FAILED, 0.0)

    def _shares(self, signs: Counts) -> dict[str, float]:
        odds = list(self.base)
        for sign, size in sizes(self._known(signs), self.rarity).items():
            for place, weight in enumerate(self.weights[sign]):
                odds[place] += size * weight
        most = max(odds, default=0.0)
        raw = [math.exp(value - most) for value in odds]
        total = sum(raw)
        return {name: n / total for name, n in zip(self.classes, raw, strict=True)}

    def said(self, signs: Counts, cause: str) -> dict[str, float]:
        """What each sign that is known adds for a cause; below 0 it speaks against it."""
        place = self._place.get(cause)
        if place is None:
            return {}
        known = sizes(self._known(signs), self.rarity)
        return {sign: size * self.weights[sign][place] for sign, size in known.items()}

    def words(self, signs: Counts) -> int:
        """How many words of a job are known."""
        return sum(1 for sign in signs if sign in self.rarity)

    def _known(self, signs: Counts) -> Counts:
        return {sign: lines for sign, lines in signs.items() if sign in self.weights}

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


def counts(signs: Iterable[Sign]) -> Counts:
    """Signs as they are weighed."""
    return {sign.name: sign.lines for sign in signs}


def sizes(signs: Counts, rarity: Mapping[str, float]) -> dict[str, float]:
    """How large each sign of one job is: a sign counts in full, a word less beside many others.

    Words count more that few jobs have, and that stand in many lines of this one.
    """
    told = {
        sign: (1 + math.log(lines)) * rarity.get(sign, 1.0)
        for sign, lines in signs.items()
        if sign.startswith(WORD)
    }
    length = math.sqrt(sum(size * size for size in told.values()))
    return {sign: _ALL_WORDS * told[sign] / length if sign in told else 1.0 for sign in signs}


@cache
def load_chances() -> Chances:
    """What the package knows."""
    text = files("unhang.settings").joinpath("data/chances.json").read_text("utf-8")
    return read_chances(text)


def read_chances(text: str) -> Chances:
    """Read what `write_chances` wrote."""
    data = json.loads(text)
    words = {f"{WORD}{word}": numbers for word, numbers in data["words"].items()}
    weights = {name: sign["weights"] for name, sign in data["signs"].items()}
    weights |= {name: weights for name, (_, *weights) in words.items()}
    return Chances(
        classes=tuple(data["classes"]),
        base=tuple(weight / 100 for weight in data["base"]),
        weights={name: tuple(w / 100 for w in told) for name, told in weights.items()},
        rarity={name: numbers[0] / 100 for name, numbers in words.items()},
        signs={name: sign["jobs"] for name, sign in data["signs"].items()},
        calibration=tuple((float(told), float(right)) for told, right in data["calibration"]),
    )


def write_chances(chances: Chances, source: str) -> str:
    """Write them as JSON, one sign a line; `source` tells where they come from.

    A word has its rarity before its weights.
    """

    def line(value: object) -> str:
        return json.dumps(value, separators=(",", ":"))

    def hundredths(weights: Iterable[float]) -> list[int]:
        return [round(100 * weight) for weight in weights]

    def lines(begun: bool) -> str:
        named = sorted(name for name in chances.weights if name.startswith(WORD) is begun)
        return ",\n".join(
            f"  {line(name.removeprefix(WORD))}: {line(facts(name))}" for name in named
        )

    def facts(name: str) -> object:
        weights = hundredths(chances.weights[name])
        if name.startswith(WORD):
            return [round(100 * chances.rarity.get(name, 1.0)), *weights]
        return {"jobs": chances.signs.get(name, {}), "weights": weights}

    return (
        f'{{\n "source": {line(source)},\n "classes": {line(chances.classes)},\n'
        f' "calibration": {line(chances.calibration)},\n "base": {line(hundredths(chances.base))},'
        f'\n "signs": {{\n{lines(False)}\n }},\n "words": {{\n{lines(True)}\n }}\n}}\n'
    )
