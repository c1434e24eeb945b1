"""`unhang watch`: the views of a run on a terminal, as it happens or replayed.

The screen shows what `pages` computes, like the web page; it draws and does nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.widgets import DataTable, Footer, RichLog, Static, TabbedContent, TabPane

from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.run_folder.rank_times import activity_of
from unhang.model.activity import Activity, ActivityMap
from unhang.model.events import CheckFault
from unhang.model.host_lists import short_host
from unhang.model.ids import format_ranks
from unhang.model.time import format_instant
from unhang.reporters.catalogue.wording import Wording
from unhang.reporters.html import heatmap
from unhang.reporters.printable import one_line
from unhang.screens import pages
from unhang.screens.feed import EventTail, Feed

_STYLES = {
    "working": "green",
    "waiting": "yellow",
    "frozen": "bold red",
    "gone": "bold red",
    "raising": "bold red",
    "still": "red",
    "stopped": "magenta",
    "unseen": "magenta",
    "leaving": "dim",
    "left": "dim",
}
_GLYPHS = {
    None: (" ", ""),
    Activity.WORK: ("·", "green"),
    Activity.WAIT: ("█", "yellow"),
    Activity.FAULT: ("X", "bold red"),
    Activity.END: ("-", "dim"),
}

_CLASSES = ("ranks", "condition", "phase", "place", "since")
_GROUPS = ("group", "members", "issued", "completed", "waiting", "lacking", "since", "limit")
_RANKS = (
    "ranks",
    "host",
    "condition",
    "phase",
    "place",
    "since",
    "steps",
    "cpu",
    "memory",
    "read",
    "written",
    "beat",
)

_KEYS = (
    ("q", "q", "quit", "quit"),
    ("comma", ",", "step(-1)", "earlier"),
    ("full_stop", ".", "step(1)", "later"),
    ("n", "n", "now", "now"),
)
"""Key, what the footer shows of it, what it does, and the name of that."""
_MOST_ROWS = 24
"""Of the heatmap: half a screen."""
_PERIOD_S = 1.0
_STEP = 1 / 40
"""Of the whole run, that one press of a key moves."""


class Watch(App[None]):
    """The screen.

    Args:
        root: the run folder.
        language: of all words.
        replay: begin at the start of the history, and not at now.
        check: a report of `unhang check` on the hosts of the run.

    Raises:
        UsageError: it is no run folder.
    """

    CSS = """
    #head { height: 1; background: $panel; padding: 0 1; }
    #news { height: auto; max-height: 5; padding: 0 1; border-left: thick green; margin: 1 0; }
    #news.suspected { border-left: thick yellow; }
    #news.confirmed { border-left: thick red; }
    DataTable { height: auto; max-height: 14; }
    RichLog { height: 1fr; }
    #heat, #edges, #lost { padding: 0 1; height: auto; }
    """

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, root: Path, *, language: str = "en", replay: bool = False, check: Path | None = None
    ) -> None:
        super().__init__()
        self._feed = Feed(root, check)
        self._events = EventTail(self._feed.folder.events)
        self._language = language
        self._words = pages.labels(language)
        self._wording = Wording(pages.units(language))
        self._at = 0.0 if replay else None
        self.title = "unhang"
        for key, shown, action, name in _KEYS:
            self.bind(key, action, description=self._words[f"key.{name}"], key_display=shown)

    def compose(self) -> ComposeResult:
        """Lay the parts out."""
        words = self._words
        yield Static(id="head")
        yield Static(id="news")
        with TabbedContent():
            with TabPane(words["classes"], id="tab-classes"), Vertical():
                yield DataTable(id="classes", cursor_type="none")
                yield Static(id="edges")
                yield Static(id="lost")
            with TabPane(words["groups"], id="tab-groups"):
                yield DataTable(id="groups", cursor_type="none")
            with TabPane(words["heat"], id="tab-heat"):
                yield Static(id="heat")
            with TabPane(words["ranks"], id="tab-ranks"):
                yield DataTable(id="ranks", cursor_type="row")
            with TabPane(words["events"], id="tab-events"):
                yield RichLog(id="events", wrap=True, max_lines=1_000)
        yield Footer()

    def on_mount(self) -> None:
        """Name the columns, and begin."""
        for name, columns in (("classes", _CLASSES), ("groups", _GROUPS), ("ranks", _RANKS)):
            table = self.query_one(f"#{name}", DataTable)
            table.add_columns(*(self._words[f"column.{column}"] for column in columns))
        self.refresh_views()
        self.set_interval(_PERIOD_S, self.refresh_views)

    def action_step(self, direction: int) -> None:
        """Go back or forth in the history."""
        at = (1.0 if self._at is None else self._at) + direction * _STEP
        self._at = None if at >= 1 else max(at, 0.0)
        self.refresh_views()

    def action_now(self) -> None:
        """Follow the run again."""
        self._at = None
        self.refresh_views()

    def refresh_views(self) -> None:
        """Read what is new, and draw it."""
        if not self.query("#heat"):  # the clock may strike once more while the screen is taken down
            return
        for event in self._events.fresh():
            told = pages.event(event, self._language)
            line = f"{event.at[:19]}  {event.kind}  {told['who']}  {told['why']}"
            self.query_one("#events", RichLog).write(Text(one_line(line)))
        standing = self._standing()
        self._draw_head(standing)
        if standing is None:
            self.query_one("#news", Static).update(self._words["nothing_yet"])
            return
        view = pages.view(standing, self._language)
        self._draw_news(view)
        self._draw_tables(view)
        self.query_one("#heat", Static).update(self._heat())

    def _standing(self) -> JobSnapshot | None:
        if self._at is None:
            return self._feed.standing()
        span = self._feed.span()
        if span is None:
            return self._feed.standing()
        at_s = span[0] + (span[1] - span[0]) * self._at
        return self._feed.nearest(at_s)

    def _draw_head(self, standing: JobSnapshot | None) -> None:
        record, words = self._feed.record(), self._words
        if self._at is not None:
            state = (words["replay"], "cyan")
        elif self._feed.is_live():
            state = (words["live"], "green")
        elif record.ended is not None:
            state = (words["finished"], "dim")
        else:
            state = (words["gone_quiet"], "red")
        up = "" if standing is None else f"  {self._seconds(standing.up_s)}"
        command = one_line(" ".join(record.command))
        self.query_one("#head", Static).update(
            Text.assemble(("unhang ", "bold"), state, f"  {command}{up}")
        )

    def _draw_news(self, view: Mapping[str, Any]) -> None:
        news = self.query_one("#news", Static)
        news.set_classes("")
        worst = view["suspicions"][0] if view["suspicions"] else None
        if worst is None:
            text = Text(self._words["calm" if view["ranks"] else "nothing_yet"])
        else:
            news.set_classes(worst["stage"])
            text = Text.assemble((worst["title"], "bold"), "\n", one_line(worst["why"]))
        verdict = self._feed.verdict(None if self._at is None else view["at"])
        if verdict is not None and isinstance(verdict.get("summary"), str):
            text.append(f"\n{one_line(str(verdict['summary']))}")
        held = {short_host(item["host"]) for item in view["ranks"] if item["suspected"]}
        for fault in self._feed.checked:
            if held.intersection(map(short_host, fault.hosts)):
                text.append(f"\n{self._words['checked']}: {_told(fault)}", "bold")
        news.update(text)

    def _draw_tables(self, view: Mapping[str, Any]) -> None:
        self._fill("classes", [self._class_row(item) for item in view["classes"]])
        self._fill("groups", [self._group_row(item) for item in view["groups"]])
        self._fill("ranks", [self._rank_row(item) for item in view["ranks"]])
        edges = [
            f"{e['waiters']} → {e['on']}   {e['call']} {e['group']}  {self._seconds(e['since_s'])}"
            for e in view["edges"]
        ]
        self.query_one("#edges", Static).update(_titled(self._words["waits_for"], edges))
        checked = [_told(fault) for fault in self._feed.checked]
        notes = (("lost", view["lost"]), ("checked", checked))
        found = Text.assemble(*(_titled(self._words[name], lines) for name, lines in notes))
        self.query_one("#lost", Static).update(found)

    def _fill(self, name: str, rows: Sequence[Sequence[Text]]) -> None:
        table = self.query_one(f"#{name}", DataTable)
        place = table.scroll_y
        table.clear()
        for row in rows:
            table.add_row(*row)
        table.scroll_y = place

    def _class_row(self, item: Mapping[str, Any]) -> list[Text]:
        return [
            Text(item["ranks"]),
            Text(item["doing"], _style(item)),
            Text(item["phase"]),
            Text(one_line(item["place"])),
            self._duration(item["since_s"]),
        ]

    def _group_row(self, item: Mapping[str, Any]) -> list[Text]:
        limit = self._duration(item["limit_s"])
        return [
            Text(one_line(item["name"])),
            Text(item["members"]),
            Text(item["issued"]),
            Text(item["completed"]),
            Text(item["waiting"], "yellow"),
            Text(item["lacking"], "bold red"),
            self._duration(item["since_s"]),
            limit.append(" ⚖") if item["governed"] else limit,
        ]

    def _rank_row(self, item: Mapping[str, Any]) -> list[Text]:
        return [
            Text(str(item["rank"])),
            Text(one_line(item["host"])),
            Text(item["doing"], _style(item)),
            Text(item["phase"]),
            Text(one_line(item["place"])),
            self._duration(item["since_s"]),
            Text("" if item["steps"] is None else str(item["steps"])),
            Text("" if item["cpu"] is None else f"{item['cpu']:.0%}"),
            self._bytes(item["memory"]),
            self._bytes(item["read"]),
            self._bytes(item["written"]),
            self._duration(item["beat"]),
        ]

    def _heat(self) -> Text:
        """Half a screen of cells: a bar waits, a letter is something graver."""
        found = activity_of(self._feed.course(), columns=max(self.size.width - 16, 20))
        return Text() if found is None else _drawn(found, self._language)

    def _duration(self, seconds: float | None) -> Text:
        return Text("" if seconds is None else self._seconds(seconds))

    def _seconds(self, seconds: float) -> str:
        return self._wording.format("{x:s}", x=seconds)

    def _bytes(self, size: float | None) -> Text:
        return Text("" if size is None else self._wording.format("{x:bytes}", x=size))


def _style(item: Mapping[str, Any]) -> str:
    """Of what a rank does; one that others wait for in vain is never shown as well."""
    return "bold red" if item["suspected"] else _STYLES[item["condition"]]


def _told(fault: CheckFault) -> str:
    at = "" if fault.at is None else f"{format_instant(fault.at)}  "
    return one_line(f"{at}{' - '.join(fault.hosts)}: {fault.text}")


def _titled(title: str, lines: Sequence[str]) -> Text:
    """A title and its lines; nothing at all where there are none."""
    if not lines:
        return Text()
    return Text.assemble(("\n" + title + "\n", "bold"), "\n".join(one_line(line) for line in lines))


def _drawn(found: ActivityMap, language: str) -> Text:
    """Rows of cells, the times of the first and the last column, and what the cells say."""
    text = Text()
    bands = found.bands(_MOST_ROWS)
    for ranks, strip in zip(bands, found.fold(bands), strict=True):
        text.append(f"{format_ranks(ranks):>11}  ", "dim")
        for length, activity in strip:
            glyph, style = _GLYPHS[activity]
            text.append(glyph * length, style)
        text.append("\n")
    begin, end = (heatmap.time_at(found, column, language) for column in (0, found.columns))
    text.append(f"{'':13}{begin}{end:>{max(found.columns - len(begin), 0)}}\n", "dim")
    shown = {kind for _, strip in found.rows for _, kind in strip}
    for kind in Activity:
        if kind in shown:
            text.append(f"{'':13}{_GLYPHS[kind][0]} ", _GLYPHS[kind][1])
            text.append(f"{heatmap.activity_name(kind, found, language)}\n")
    return text
