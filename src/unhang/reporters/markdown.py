"""From a diagnosis to Markdown that can be pasted into an issue tracker.

Words of logs are escaped, so that they cannot become links, mentions, images or HTML; quoted lines
stand in fences longer than any run of backticks in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unhang import lazy_re as re
from unhang.model.diagnosis import Diagnosis
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.parts import PAGE, EventStep, FixText, LabelledText, Quote, View
from unhang.reporters.printable import headed
from unhang.reporters.style import PLAIN, Style
from unhang.reporters.view import view

_SPAN = re.compile(r"(?<!`)(`[^`]+`)(?!`)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|!~$&])")
_LINKING = re.compile(r"@|://|www\.|#(?=\d)")
_LEADING = re.compile(r"^(\s*)([-+=#]|\d+[.)])")
_BREAKER = "\N{ZERO WIDTH SPACE}"


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the Markdown text, without a line end."""
    return "\n".join(_page(view(diagnosis, style.language, PAGE), style.language))


def escape(text: str) -> str:
    r"""Make `text` stand for itself in Markdown; code spans stay: what is in one does nothing.

    >>> escape("<b> [x](y) `z*z` a_b `")
    '\\<b\\> \\[x\\](y) `z*z` a\\_b \\`'
    """
    parts = _SPAN.split(text)
    return "".join(p if i % 2 else _escape_plain(p, first=i == 0) for i, p in enumerate(parts))


def _escape_plain(text: str, *, first: bool) -> str:
    safe = _SPECIAL.sub(r"\\\1", _LINKING.sub(lambda m: m[0][0] + _BREAKER + m[0][1:], text))
    if not first:
        return safe
    return _LEADING.sub(lambda m: m[1] + m[2][:-1] + "\\" + m[2][-1], safe)


def code(text: str) -> str:
    """Make `text` a code span, whatever backticks it holds.

    >>> code("a `b`")
    '`` a `b` ``'
    """
    ticks = "`" * (_longest_run(text) + 1)
    blank = " " if "`" in text or not text.strip() else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def fence(lines: Iterable[str]) -> Iterator[str]:
    """Put lines into a fenced block that they cannot close."""
    body = list(lines)
    ticks = "`" * max(3, 1 + max((_longest_run(line) for line in body), default=0))
    yield from (f"{ticks}text", *body, ticks)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _page(shown: View, language: str) -> Iterator[str]:
    """All lines; sections without content are left out."""
    yield f"## {headed(shown.badge)}`{shown.cause}`" if shown.cause else f"## {shown.badge}"
    yield from ("", f"**{escape(shown.summary)}**")
    if shown.meaning:
        yield from ("", f"({escape(shown.meaning)})")
    for warning in shown.warnings:
        yield from ("", f"> **{escape(warning)}**")
    if shown.facts:
        yield ""
        yield from (f"- {escape(headed(fact.label))}{escape(fact.text)}" for fact in shown.facts)
    sections = {
        "why": _why(shown, _label("against", language)),
        "evidence": _folded(_label("evidence", language), _quotes(shown.evidence)),
        "likely": _facts(shown.likely),
        "unread": _quotes(shown.unread),
        "sources": _facts(shown.sources),
        "standings": _facts(shown.standings),
        "story": _story(shown.story),
        "fix": _fixes(shown.fixes),
        "rejected": _facts(shown.rejected),
        "others": _facts(shown.others),
        "collect": _collect(shown, _label("decides", language)),
        "unseen": _list(shown.unseen),
        "problems": _list(shown.problems),
        "earlier": _list(shown.earlier),
    }
    for key, lines in sections.items():
        body = list(lines)
        if body:
            yield from ("", f"### {_label(key, language)}", "", *body)
    yield from ("", f"<sub>{escape('  '.join(shown.footer))}</sub>")


def _label(name: str, language: str) -> str:
    return write(Message(key=f"label.{name}"), language)


def _why(shown: View, against: str) -> Iterator[str]:
    if shown.why:
        yield escape(shown.why)
    if shown.against:
        yield from ("", f"{escape(headed(against))}{escape(shown.against)}")


def _quotes(quotes: tuple[Quote, ...]) -> Iterator[str]:
    for quote in quotes:
        yield from (code(quote.place), "", *fence([quote.text]))
        yield from (quote.more, "") if quote.more else ("",)


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield from (f"<details><summary>{title}</summary>", "", *body, "</details>")


def _story(steps: tuple[EventStep, ...]) -> Iterator[str]:
    if steps:
        yield from ("| | | | |", "|---|---|---|---|")
    for step in steps:
        place = code(step.place).replace("|", "\\|") if step.place else ""
        cells = (escape(step.at), escape(step.who), escape(step.what), place)
        yield f"| {' | '.join(cells)} |"


def _fixes(fixes: tuple[FixText, ...]) -> Iterator[str]:
    for number, fix in enumerate(fixes, start=1):
        yield from (f"{number}. **{escape(fix.title)}** ({escape(fix.aside)})", "")
        if fix.patch:
            yield from (f"   {line}" for line in fence(fix.patch))
            yield ""
        yield from (f"   - {escape(headed(n.label))}{escape(n.text)}" for n in fix.notes)


def _facts(facts: tuple[LabelledText, ...]) -> Iterator[str]:
    return (f"- {code(fact.label)}: {escape(fact.text)}" for fact in facts)


def _collect(shown: View, decides: str) -> Iterator[str]:
    for number, errand in enumerate(shown.collect, start=1):
        yield f"{number}. **{escape(errand.what)}** {escape(errand.how)}"
        yield f"   - {escape(headed(decides))}{escape(errand.decides)}"


def _list(lines: tuple[str, ...]) -> Iterator[str]:
    return (f"- {escape(line)}" for line in lines)
