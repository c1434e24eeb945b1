"""The parts of a page: plain words, before they are set. Renderers and tests read these."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.diagnosis import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many of each a page shows, and how many characters of a quote; JSON has all."""

    evidence: int
    quote: int
    story: int
    warnings: int
    sources: int
    standings: int
    fixes: int
    patches: int
    patch_lines: int
    collect: int
    others: int
    problems: int
    earlier: int


SCREEN = Limits(
    evidence=4,
    quote=240,
    story=7,
    warnings=3,
    sources=6,
    standings=4,
    fixes=3,
    patches=1,
    patch_lines=14,
    collect=3,
    others=2,
    problems=3,
    earlier=3,
)
"""One screen."""

PAGE = Limits(
    evidence=12,
    quote=400,
    story=30,
    warnings=20,
    sources=20,
    standings=20,
    fixes=10,
    patches=10,
    patch_lines=60,
    collect=10,
    others=10,
    problems=10,
    earlier=10,
)
"""A page that scrolls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A label and what it says."""

    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A line of an artifact; `place` is `file:line`, `more` tells of lines like it."""

    place: str
    text: str
    more: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the story; `at` and `who` may be empty."""

    at: str
    who: str
    what: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing to do; on a small page all but the first are a title only."""

    title: str
    kind: str
    where: str
    patch: tuple[str, ...]
    notes: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Something to collect, how, and what it decides."""

    what: str
    how: str
    decides: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A report in words. Empty texts and tuples are not shown."""

    outcome: Outcome
    badge: str
    cause: str
    meaning: str
    summary: str
    warnings: tuple[str, ...]
    facts: tuple[Entry, ...]
    why: str
    against: str
    evidence: tuple[Quote, ...]
    unread: tuple[Quote, ...]
    sources: tuple[Entry, ...]
    standings: tuple[Entry, ...]
    story: tuple[Step, ...]
    fixes: tuple[Remedy, ...]
    more_fixes: str
    rejected: tuple[Entry, ...]
    collect: tuple[Errand, ...]
    others: tuple[Entry, ...]
    unseen: tuple[str, ...]
    problems: tuple[str, ...]
    earlier: tuple[str, ...]
    footer: tuple[str, ...]
