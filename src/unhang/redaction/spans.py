"""Where secrets stand in a text, and the text without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from unhang import lazy_re as re

MARK = re.compile(r"\[redacted [\w ()-]{1,40}\]")
"""What stands for a secret."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `begin` to `end` of a text are a secret of a kind."""

    begin: int
    end: int
    kind: str


def replace_spans(text: str, spans: Iterable[Span], count: Callable[[str], None]) -> str:
    """Return `text` with one mark for each secret; those that overlap are one.

    Args:
        text: anything.
        spans: the most telling kind first, where several stand for one place.
        count: is told the kind of each mark.
    """
    parts: list[str] = []
    done = 0
    for span in _joined(spans):
        count(span.kind)
        parts.extend((text[done : span.begin], f"[redacted {span.kind}]"))
        done = span.end
    return "".join((*parts, text[done:])) if done else text


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Disjoint spans, in order. The kind is that of the one that was told first."""
    ordered = sorted(enumerate(spans), key=lambda told: (told[1].begin, told[0]))
    joined: list[tuple[int, Span]] = []
    for rank, span in ordered:
        if joined and span.begin < joined[-1][1].end:
            first, last = joined[-1]
            kind = last.kind if first <= rank else span.kind
            joined[-1] = (min(first, rank), Span(last.begin, max(last.end, span.end), kind))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]
