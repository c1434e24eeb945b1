"""The parts of a page: plain words, before they are set. Renderers and tests read these."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.diagnosis import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
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


SCREEN = PageLimits(
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

PAGE = PageLimits(
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
class LabelledText:
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
class EventStep:
    """One step of the story; `at` and `who` may be empty."""

    at: str
    who: str
    what: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FixText:
    """One thing to do; on a small page all but the first are a title only."""

    title: str
    aside: str
    """Cure or workaround; framework and place."""
    patch: tuple[str, ...]
    notes: tuple[LabelledText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextEvidenceText:
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
    facts: tuple[LabelledText, ...]
    why: str
    against: str
    evidence: tuple[Quote, ...]
    likely: tuple[LabelledText, ...]
    unread: tuple[Quote, ...]
    sources: tuple[LabelledText, ...]
    standings: tuple[LabelledText, ...]
    story: tuple[EventStep, ...]
    fixes: tuple[FixText, ...]
    more_fixes: str
    rejected: tuple[LabelledText, ...]
    collect: tuple[NextEvidenceText, ...]
    others: tuple[LabelledText, ...]
    unseen: tuple[str, ...]
    problems: tuple[str, ...]
    earlier: tuple[str, ...]
    footer: tuple[str, ...]
