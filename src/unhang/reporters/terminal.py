"""From a diagnosis to one calm screen: verdict, why, story, fix, what to collect next.

Everything that is printed goes through `rich.text.Text`, never through markup: text of logs that
looks like `[red]` or `[/]` is text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.parts import SCREEN, EventStep, LabelledText, NextEvidenceText, Quote, View
from unhang.reporters.printable import headed
from unhang.reporters.style import PLAIN, Style
from unhang.reporters.view import view

_BADGE = {
    Outcome.CAUSE: "bold white on red",
    Outcome.LOCATED: "bold black on yellow",
    Outcome.UNDETERMINED: "bold white on blue",
    Outcome.HEALTHY: "bold white on green",
}
_HEADING, _QUIET, _STRONG, _CODE = "bold cyan", "dim", "bold", "green"
_ALARM = "bold red"
_WIDEST, _NARROWEST = 110, 40
_LONGEST_PLACE = 32


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the screen as text, with escape sequences only where `style` allows colour."""
    shown = view(diagnosis, style.language, SCREEN)
    console = Console(
        file=io.StringIO(),
        width=max(_NARROWEST, min(style.width, _WIDEST)),
        color_system="standard" if style.color else None,
        force_terminal=style.color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(page(shown, style))
    return "\n".join(line.rstrip() for line in capture.get().split("\n")).strip()


def page(shown: View, style: Style = PLAIN) -> Group:
    """Lay out a view; sections without content are left out."""
    language = style.language
    sections: list[tuple[str, Iterable[ConsoleRenderable]]] = [
        ("why", _why(shown, language)),
        ("evidence", _evidence(shown.evidence)),
        ("likely", _facts(shown.likely)),
        ("unread", _evidence(shown.unread)),
        ("sources", _facts(shown.sources)),
        ("standings", _facts(shown.standings)),
        ("story", _story(shown.story)),
        ("fix", _fixes(shown)),
        ("rejected", _facts(shown.rejected)),
        ("others", _facts(shown.others)),
        ("collect", _collect(shown.collect, language)),
        ("unseen", _list(shown.unseen)),
        ("problems", _list(shown.problems)),
        ("earlier", _list(shown.earlier)),
    ]
    parts: list[ConsoleRenderable] = [*_headline(shown), _inset(Text(shown.summary, _STRONG))]
    for warning in shown.warnings:
        parts += [Text(), _inset(Text(warning, _ALARM))]
    if shown.facts:
        parts += [Text(), *_facts(shown.facts)]
    for name, content in sections:
        body = list(content)
        if body:
            parts += [Text(), Text(_label(name, language), _HEADING), *body]
    parts += [Text(), *(Text(line, _QUIET) for line in shown.footer)]
    return Group(*parts)


def _label(name: str, language: str) -> str:
    return write(Message(key=f"label.{name}"), language)


def _inset(content: ConsoleRenderable) -> ConsoleRenderable:
    return Padding(content, (0, 0, 0, 2))


def _headline(shown: View) -> Iterator[ConsoleRenderable]:
    line = Text.assemble((f" {shown.badge} ", _BADGE[shown.outcome]), no_wrap=True)
    if shown.cause:
        line.append("  ").append(shown.cause, _STRONG).append(f"  {shown.meaning}", _QUIET)
    line.overflow = "ellipsis"
    yield line


def _facts(facts: Iterable[LabelledText]) -> Iterator[ConsoleRenderable]:
    rows = [(Text(fact.label, _QUIET), Text(fact.text)) for fact in facts]
    if rows:
        table = Table.grid(padding=(0, 2))
        table.add_column(max_width=32)
        table.add_column(overflow="fold")
        for row in rows:
            table.add_row(*row)
        yield _inset(table)


def _why(shown: View, language: str) -> Iterator[ConsoleRenderable]:
    if shown.why:
        yield _inset(Text(shown.why))
    if shown.against:
        against = Text.assemble((headed(_label("against", language)), _QUIET), shown.against)
        yield _inset(against)


def _evidence(quotes: tuple[Quote, ...]) -> Iterator[ConsoleRenderable]:
    if not quotes:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style=_QUIET, no_wrap=True)
    table.add_column(overflow="fold", style=_CODE)
    for quote in quotes:
        table.add_row(_tail(quote.place), Text(quote.text))
        if quote.more:
            table.add_row("", Text(quote.more, _QUIET))
    yield _inset(table)


def _tail(place: str) -> Text:
    """The end of a long place: the file's name and the line say more than the folders."""
    return Text(place if len(place) <= _LONGEST_PLACE else "…" + place[1 - _LONGEST_PLACE :])


def _ruled(lines: Iterable[str], style: str) -> ConsoleRenderable:
    """Quoted text with a rule at its left, kept beside every wrapped line."""
    table = Table.grid()
    table.add_column(width=2, style=_QUIET)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(Text("│"), Text(line, style))
    return _inset(table)


def _story(steps: tuple[EventStep, ...]) -> Iterator[ConsoleRenderable]:
    if not steps:
        return
    timed, told = any(step.at for step in steps), any(step.who for step in steps)
    table = Table.grid(padding=(0, 2))
    if timed:
        table.add_column(style=_QUIET, no_wrap=True)
    if told:
        table.add_column(max_width=24)
    table.add_column(overflow="fold", ratio=1)
    table.add_column(style=_QUIET, no_wrap=True)
    for step in steps:
        cells = [Text(step.at)] if timed else []
        cells += [Text(step.who)] if told else []
        table.add_row(*cells, Text(step.what), _tail(step.place))
    yield _inset(table)


def _fixes(shown: View) -> Iterator[ConsoleRenderable]:
    for number, fix in enumerate(shown.fixes, start=1):
        title = Text(f"{number}. ").append(fix.title, _STRONG)
        yield _inset(title.append(f"  ({fix.aside})", _QUIET))
        if fix.patch:
            yield Padding(_ruled(fix.patch, _CODE), (0, 0, 0, 3))
        for note in fix.notes:
            line = Text.assemble((headed(note.label), _QUIET), note.text)
            yield Padding(line, (0, 0, 0, 5))
    if shown.more_fixes:
        yield _inset(Text(shown.more_fixes, _QUIET))


def _collect(errands: Iterable[NextEvidenceText], language: str) -> Iterator[ConsoleRenderable]:
    decides = _label("decides", language)
    for number, errand in enumerate(errands, start=1):
        yield _inset(Text(f"{number}. ").append(errand.what, _STRONG))
        yield Padding(Text(errand.how), (0, 0, 0, 5))
        line = Text.assemble((headed(decides), _QUIET), errand.decides)
        yield Padding(line, (0, 0, 0, 5))


def _list(lines: Iterable[str]) -> Iterator[ConsoleRenderable]:
    for line in lines:
        yield _inset(Text(line))
