"""The verdict for a language model: what it needs to act, in at most `MOST_TOKENS` tokens.

What comes from the job's files stands in fences or in backticks, and the text says that it is data:
a log can hold sentences that are meant for the model. The most important parts come first; what no
longer fits is left out and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unhang import lazy_re as re
from unhang.model.diagnosis import Diagnosis
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.markdown import code, fence
from unhang.reporters.parts import PAGE, FixText, LabelledText, Quote, View
from unhang.reporters.printable import headed
from unhang.reporters.style import PLAIN, Style
from unhang.reporters.view import view

MOST_TOKENS = 4_000
_RESERVE = 120
"""For the line that names what was left out."""
_PIECE = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d]|\n")
_LETTERS = 3
"""Letters of a word that surely make no more than one token."""


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the text, without a line end."""
    shown = view(diagnosis, style.language, PAGE)
    kept: list[str] = []
    left_out: list[str] = []
    room = MOST_TOKENS - _RESERVE
    for title, lines in _parts(shown, style.language):
        for place, text in enumerate(lines):
            whole = f"\n## {title}\n{text}" if place == 0 and title else text
            cost = tokens(whole) + 1
            if cost > room:
                left_out.append(title)
                break
            kept.append(whole)
            room -= cost
    if left_out:
        names = write(Message(key="unit.comma"), style.language).join(dict.fromkeys(left_out))
        kept.append(f"\n{_words('left_out', style.language, names=names)}")
    return "\n".join(kept)


def tokens(text: str) -> int:
    """Return how many tokens a text surely does not exceed, whatever the tokenizer.

    Three letters of a word, a digit or a mark are one token; letters beyond ASCII take up to two.

    >>> tokens("rank 3 waits")
    5
    """
    return sum(_cost(found[0]) for found in _PIECE.finditer(text))


def _cost(piece: str) -> int:
    if piece.isascii():
        return -(-len(piece) // _LETTERS)
    return 2


def _parts(shown: View, language: str) -> Iterator[tuple[str, Iterable[str]]]:
    """Titles with their lines, the most important first."""
    yield "", (_words("head", language),)
    yield _label("verdict", language), _verdict(shown, language)
    yield _label("evidence", language), _quotes(shown.evidence)
    yield _label("fix", language), _fixes(shown.fixes[:1])
    yield _label("collect", language), _collect(shown, language)
    yield _label("more_fixes", language), _fixes(shown.fixes[1:])
    yield _label("standings", language), _pairs(shown.standings)
    yield _label("others", language), _pairs(shown.others)
    yield _label("rejected", language), _pairs(shown.rejected)
    yield _label("unseen", language), [f"- {line}" for line in (*shown.unseen, *shown.problems)]
    yield _label("unread", language), _quotes(shown.unread)
    yield _label("story", language), _story(shown)


def _verdict(shown: View, language: str) -> Iterator[str]:
    cause = f"{code(shown.cause)} ({shown.meaning})" if shown.cause else ""
    yield f"- {headed(shown.badge)}{cause}" if cause else f"- {shown.badge}"
    yield f"- {shown.summary}"
    yield from (f"- {headed(fact.label)}{fact.text}" for fact in shown.facts)
    if shown.why:
        yield f"- {headed(_label('why', language))}{shown.why}"
    if shown.against:
        yield f"- {headed(_label('against', language))}{shown.against}"
    yield from (f"- ! {warning}" for warning in shown.warnings)


def _quotes(quotes: Iterable[Quote]) -> Iterator[str]:
    for quote in quotes:
        yield "\n".join((f"{code(quote.place)} {quote.more}".rstrip(), *fence([quote.text])))


def _fixes(fixes: Iterable[FixText]) -> Iterator[str]:
    for fix in fixes:
        patch = fence(fix.patch) if fix.patch else ()
        notes = (f"  {headed(note.label)}{note.text}" for note in fix.notes)
        yield "\n".join((f"- {fix.title} ({fix.aside})", *patch, *notes))


def _collect(shown: View, language: str) -> Iterator[str]:
    for one in shown.collect:
        yield f"- {headed(one.what)}{one.how} ({headed(_label('decides', language))}{one.decides})"


def _pairs(facts: Iterable[LabelledText]) -> Iterator[str]:
    return (f"- {code(fact.label)} {fact.text}" for fact in facts)


def _story(shown: View) -> Iterator[str]:
    for step in shown.story:
        yield "- " + " | ".join(part for part in (step.at, step.who, step.what) if part)


def _label(name: str, language: str) -> str:
    if name in ("verdict", "more_fixes"):
        return _words(name, language)
    return write(Message(key=f"label.{name}"), language)


def _words(name: str, language: str, **values: object) -> str:
    return write(Message(key=f"prompt.{name}", values=values), language)
