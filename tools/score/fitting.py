"""Fits what signs say for causes: a softmax regression that is held small."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unhang.verdict.chances import WORD, Chances, Counts, sizes

_FEWEST = 3
"""A sign of fewer labelled jobs is an anecdote, and says nothing."""
_SOURCES = 3
"""Sources that a word is from at least: what one author writes is no sign."""
_HELD_SMALL = 0.7
"""Weight of the penalty on large weights; from 0.5 to 1 it matters little on jobs left out."""
_STEPS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One job to learn from: its signs, who wrote it, and the classes it counts for."""

    signs: Counts
    source: str
    truth: Mapping[str, float]


def fit(examples: Sequence[Example]) -> Chances:
    """Return weights of all signs that are frequent enough, without counts."""
    jobs = _frequent(examples)
    known = sorted(jobs)
    classes = tuple(sorted({name for example in examples for name in example.truth}))
    if not classes:
        return Chances(classes=(), base=(), weights={})
    rarity = {
        sign: 1 + math.log((1 + len(examples)) / (1 + count))
        for sign, count in jobs.items()
        if sign.startswith(WORD)
    }
    place = {sign: number for number, sign in enumerate(known)}
    shown = np.zeros((len(examples), len(known)))
    wanted = np.zeros((len(examples), len(classes)))
    for row, example in enumerate(examples):
        told = {sign: lines for sign, lines in example.signs.items() if sign in place}
        for sign, size in sizes(told, rarity).items():
            shown[row, place[sign]] = size
        for name, share in example.truth.items():
            wanted[row, classes.index(name)] = share
    weights, base = _descend(shown, wanted)
    return Chances(
        classes=classes,
        base=tuple(map(float, base)),
        weights={sign: tuple(map(float, weights[number])) for sign, number in place.items()},
        rarity=rarity,
    )


def _frequent(examples: Sequence[Example]) -> dict[str, int]:
    """Signs that enough jobs show, with the number of these."""
    jobs: Counter[str] = Counter()
    sources: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        for sign in example.signs:
            jobs[sign] += 1
            sources[sign].add(example.source)
    return {
        sign: count
        for sign, count in jobs.items()
        if count >= _FEWEST and (len(sources[sign]) >= _SOURCES or not sign.startswith(WORD))
    }


def _descend(shown: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nesterov's descent on the cross-entropy with a squared penalty on the weights."""
    share = wanted.sum(axis=1, keepdims=True)
    base = np.log(wanted.sum(axis=0) + 0.5)
    base -= base.mean()
    steepest = 0.5 * np.linalg.norm(shown, 2) ** 2 + _HELD_SMALL if shown.size else 1.0
    weights = ahead = np.zeros((shown.shape[1], wanted.shape[1]))
    speed = 1.0
    for _ in range(_STEPS):
        odds = shown @ ahead + base
        told = np.exp(odds - odds.max(axis=1, keepdims=True))
        off = told / told.sum(axis=1, keepdims=True) * share - wanted
        stepped = ahead - (shown.T @ off + _HELD_SMALL * ahead) / steepest
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        ahead = stepped + (speed - 1) / faster * (stepped - weights)
        weights, speed = stepped, faster
        base = base - off.sum(axis=0) / (0.5 * share.sum())
    return weights, base
