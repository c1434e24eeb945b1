"""From explanations and the list of rules to text, in each form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unhang.model.explanation import Explanation, RuleCard
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import sentence, sentences, write
from unhang.reporters.fields import fields
from unhang.reporters.json import dumps
from unhang.reporters.printable import block, fill, one_line
from unhang.reporters.style import BOLD, CYAN, PLAIN, Style

FORMS = ("terminal", "json", "markdown")
"""The forms of a manual page."""


def render_explanation(explanation: Explanation, form: str, style: Style = PLAIN) -> str:
    """Return a manual page, without a line end."""
    explanation = public(explanation, form)
    match form:
        case "json":
            return dumps(_as_dict(explanation, style.language))
        case "markdown":
            return "\n".join(_markdown(explanation, style.language))
        case _:
            return "\n".join(_screen(explanation, style))


def render_rules(cards: Iterable[RuleCard], form: str, style: Style = PLAIN) -> str:
    """Return the list of rules, without a line end."""
    if form == "json":
        return dumps({"schema": "unhang.rules/1", "rules": [_card(card) for card in cards]})
    return "\n".join(_table(list(cards), style))


def _as_dict(explanation: Explanation, language: str) -> dict[str, object]:
    return {
        "schema": "unhang.explanation/1",
        **fields(explanation, "topic name summary", language),
        "sections": [
            {
                "title": sentence(section.title, language),
                "text": "\n".join(_body(message, language) for message in section.body),
            }
            for section in explanation.sections
        ],
    }


def _body(message: Message, language: str) -> str:
    """Text of a manual stands as it is written; sentences begin with a capital."""
    facts = message.values.get("facts")
    if isinstance(facts, tuple):
        texts = sentences(language)
        told = texts["unit.comma"].join(texts[f"need.{fact}"] for fact in facts)
        return sentence(message.using(facts=told), language)
    as_written = message.key.startswith(("manual.text", "manuals."))
    return write(message, language) if as_written else sentence(message, language)


def _untranslated(explanation: Explanation, language: str) -> str | None:
    """A remark where a manual page has no translation, and is shown in English."""
    key = explanation.summary.key
    if language == "en" or not key.startswith("manuals.") or key in sentences(language):
        return None
    return sentence(Message(key="manual.untranslated"), language)


def _screen(explanation: Explanation, style: Style) -> Iterator[str]:
    width = max(40, min(style.width, 110))
    yield style.paint(one_line(explanation.name), BOLD)
    yield from _wrapped(sentence(explanation.summary, style.language), width)
    remark = _untranslated(explanation, style.language)
    yield from ("", f"  {remark}") if remark else ()
    for section in explanation.sections:
        yield ""
        yield style.paint(one_line(sentence(section.title, style.language)), CYAN)
        for message in section.body:
            yield from _wrapped(_body(message, style.language), width)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Paragraphs filled to the width; indented, listed and fenced lines are kept."""
    for paragraph in _paragraphs(block(text)):
        if len(paragraph) == 1 or not any(_keeps_its_lines(line) for line in paragraph):
            yield from (f"  {line}" for line in fill(" ".join(paragraph), width - 2))
        else:
            yield from (f"  {line}" for line in paragraph)


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in lines:
        if line:
            paragraph.append(line)
        else:
            yield from ([paragraph] if paragraph else [])
            yield []
            paragraph = []
    if paragraph:
        yield paragraph


def _keeps_its_lines(line: str) -> bool:
    return line.startswith((" ", "- ", "* ", "|", "```")) or line[:1].isdigit()


def _markdown(explanation: Explanation, language: str) -> Iterator[str]:
    """Manual pages are Markdown already; only what quotes a log is escaped by its parsers."""
    yield f"# {explanation.name}"
    yield from ("", *block(sentence(explanation.summary, language)))
    remark = _untranslated(explanation, language)
    yield from ("", f"*{remark}*") if remark else ()
    for section in explanation.sections:
        yield from ("", f"## {sentence(section.title, language)}", "")
        bodies = [block(_body(message, language)) for message in section.body]
        listed = len(bodies) > 1
        for lines in bodies:
            yield from (f"- {' '.join(lines)}",) if listed else lines


def _card(card: RuleCard) -> dict[str, object]:
    told = fields(card, "code name cause status since summary")
    return {**told, "needs": sorted(fact.value for fact in card.needs)}


def _table(cards: list[RuleCard], style: Style) -> Iterator[str]:
    """Code, name and cause; the summary below where the screen has no room beside."""
    causes = ["-" if card.cause is None else card.cause.value for card in cards]
    names = max((len(card.name) for card in cards), default=0)
    for card, cause in zip(cards, causes, strict=True):
        code = style.paint(card.code, BOLD)
        yield f"{code}  {card.name:<{names}}  {cause}".rstrip()
    if cards:
        yield from ("", sentence(Message(key="manual.more"), style.language))
