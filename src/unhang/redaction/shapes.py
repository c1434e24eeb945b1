"""Finds secrets by their shape; the shapes are data (`shapes.toml`), users may add their own.

Shapes are tried only where a literal part of them occurs, so that megabytes of log cost little.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from unhang.errors import UsageError
from unhang.model import toml
from unhang.redaction.spans import Span
from unhang.redaction.values import is_harmless, looks_random

_BEFORE = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtb])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9a-fA-F]{4})"
    r"|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm)|(?<=\x1b\[\d;\d\dm))"
)
"""What stands before a secret: no letter, unless it ends an escape of JSON, URL or terminal."""

_RULES_VARIABLE = "UNHANG_REDACT_RULES"
_LONGEST_PATTERN = 2_000
_LONG_WORD = 24
_BEFORE_NEEDLE, _BEHIND_NEEDLE = 600, 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a kind of secret looks like.

    Attributes:
        kind: as the manifest counts it.
        pattern: the secret, or its group `value` where only a part is secret.
        needles: literal texts, lower case; one of them is in every such secret, or stands before
            it on its line. Empty = none is known, and the secret is within one long word.
        lines: how many further lines a secret may go on for.
        random: only what looks made by a generator is one.
        whole: look everywhere; only for patterns of users, who name no needles.
    """

    kind: str
    pattern: re.Pattern[str]
    needles: tuple[bytes, ...] = ()
    lines: int = 0
    random: bool = False
    whole: bool = False

    def find(self, text: str, lower: bytes, words: Sequence[str]) -> Iterator[Span]:
        """Yield where such secrets stand.

        Args:
            text: anything.
            lower: the same in lower case, one byte a character; what is not ASCII is `?`.
            words: the long words of the text, each once.
        """
        if self.whole:
            yield from self._within(text, 0, len(text))
        elif self.needles:
            for needle in self.needles:
                for begin, end in _windows(lower, needle, self.lines):
                    yield from self._within(text, begin, end)
        else:
            for word in words:
                for found in self._within(word, 0, len(word)):
                    for place in _places(text, word):
                        yield Span(place + found.begin, place + found.end, found.kind)

    def _within(self, text: str, begin: int, end: int) -> Iterator[Span]:
        group = "value" if "value" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text, begin, end):
            value = match[group]
            if value and not is_harmless(value) and (not self.random or looks_random(value)):
                yield Span(*match.span(group), self.kind)


def long_words(text: str) -> tuple[str, ...]:
    """Words of a text that are long enough for a secret without a literal part, each once."""
    return tuple({word for word in text.split() if len(word) >= _LONG_WORD})


def _windows(lower: bytes, needle: bytes, lines: int) -> Iterator[tuple[int, int]]:
    """The lines, or parts of very long ones, in which a needle stands."""
    place = lower.find(needle)
    while place >= 0:
        begin = max(lower.rfind(b"\n", 0, place) + 1, place - _BEFORE_NEEDLE)
        limit = min(len(lower), place + _BEHIND_NEEDLE)
        ends = [place]
        for _ in range(lines + 1):
            line_end = lower.find(b"\n", ends[-1] + 1, limit)
            ends.append(limit if line_end < 0 else line_end)
        yield begin, ends[-1]
        # What else stands on the line of the needle lies in the same window.
        cut = ends[1] == limit < len(lower)
        following = max(place + 1, ends[1] - _BEFORE_NEEDLE if cut else ends[1])
        place = lower.find(needle, following)


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


@cache
def known_shapes() -> tuple[Shape, ...]:
    """Every shape of `shapes.toml`."""
    told = toml.load("unhang.redaction", "shapes.toml")
    return tuple(_shape(table) for table in told["shape"])


def own_shapes(
    patterns: Iterable[str] = (), file: str | os.PathLike[str] | None = None
) -> tuple[Shape, ...]:
    """Shapes of the user's.

    Args:
        patterns: regular expressions; a group `value` is the part to replace.
        file: TOML with tables like those of `shapes.toml`; `kind` and `needles` may be missing.
            None = the one that the variable UNHANG_REDACT_RULES names, if any.

    Raises:
        UsageError: a pattern is none, or the file cannot be read; the message says which.
    """
    made = [_own({"pattern": pattern}, f"the pattern {pattern!r}") for pattern in patterns]
    file = file or os.environ.get(_RULES_VARIABLE) or None
    if file is not None:
        tables = _tables(Path(file))
        made.extend(
            _own(table, f"{file}: pattern {number}") for number, table in enumerate(tables, start=1)
        )
    return tuple(made)


def _tables(path: Path) -> list[Mapping[str, Any]]:
    try:
        told = toml.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: expected TOML with [[shape]] tables: {error}") from error
    tables = told.get("shape")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{path}: expected [[shape]] tables, each with a `pattern`")
    return tables


def _own(table: Mapping[str, Any], where: str) -> Shape:
    pattern = table.get("pattern")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= _LONGEST_PATTERN:
        raise UsageError(f"{where}: expected a regular expression of at most 2,000 characters")
    try:
        own = {"anywhere": True, "whole": not table.get("needles"), "kind": "pattern of yours"}
        return _shape({**own, **table})
    except (re.error, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{where}: this is not a regular expression: {error}") from error


def _shape(table: Mapping[str, Any]) -> Shape:
    before = "" if table.get("anywhere") else _BEFORE
    return Shape(
        kind=str(table["kind"]),
        pattern=re.compile(before + table["pattern"]),
        needles=tuple(needle.lower().encode() for needle in table.get("needles", ())),
        lines=int(table.get("lines", 0)),
        random=bool(table.get("random")),
        whole=bool(table.get("whole")),
    )
