"""The verdict as one self-contained page; see `frame` for what all pages share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from unhang.model.diagnosis import Diagnosis, Excerpt, Outcome
from unhang.model.ids import ManyRanks, RankSpans, format_ranks
from unhang.model.provenance import Message, Provenance
from unhang.reporters.catalogue import write
from unhang.reporters.html import heatmap
from unhang.reporters.html.frame import Section, page, words
from unhang.reporters.html.markup import Child, Html, join, prose, table, tag
from unhang.reporters.html.stack_tree import stack_tree
from unhang.reporters.html.wait_drawing import draw
from unhang.reporters.html.wait_graph import call_label, graph_of
from unhang.reporters.parts import PAGE, FixText, LabelledText, Quote, View
from unhang.reporters.printable import block, headed, one_line
from unhang.reporters.style import PLAIN, Style
from unhang.reporters.view import quoted_lines, view

_LIMITS = replace(PAGE, evidence=40, story=60, standings=40, fixes=20, patches=20, problems=60)
_LONGEST_LINE = 600
"""Characters of a line of an excerpt."""


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the document."""
    shown = view(diagnosis, style.language, _LIMITS)
    return _Page(diagnosis, shown, style.language).document()


class _Page:
    """The sections of one verdict."""

    def __init__(self, diagnosis: Diagnosis, shown: View, language: str) -> None:
        self._diagnosis = diagnosis
        self._shown = shown
        self._language = language
        call = diagnosis.call
        self._graph = graph_of(
            diagnosis.waits,
            language,
            self._doings(),
            culprits=diagnosis.culprits,
            victims=diagnosis.victims,
            call="" if call is None else call_label(", ".join(sorted(call.ops)), call.seq, ""),
        )
        self._copies = 0

    def document(self) -> str:
        diagnosis, shown = self._diagnosis, self._shown
        sections = [
            self._section("fix", self._fixes(), title="label.fix"),
            self._section("why", self._why(), title="label.why"),
            self._section("time", self._time()),
            self._section("story", self._story(), title="label.story"),
            self._section("stacks", stack_tree(diagnosis, self._language)),
            self._section("sources", self._pairs(shown.sources), title="label.sources"),
            self._section(
                "unread", self._quotes(shown.unread, diagnosis.unread), title="label.unread"
            ),
            self._section("collect", self._collect(), title="label.collect"),
            self._section("others", self._pairs(shown.others), title="label.others"),
            self._section("rejected", self._pairs(shown.rejected), title="label.rejected"),
            self._section("coverage", self._coverage()),
            self._section("earlier", _list(shown.earlier), title="label.earlier"),
        ]
        named = f" · {shown.cause}" if shown.cause else ""
        return page(
            f"{shown.badge}{named} · unhang",
            self._verdict(),
            sections,
            self._language,
            footer=shown.footer,
        )

    def _words(self, key: str, **values: object) -> str:
        return words(key, self._language, **values)

    def _say(self, key: str, **values: object) -> str:
        return write(Message(key=key, values=values), self._language)

    def _section(self, name: str, body: Child, title: str = "") -> Section:
        told = self._say(title) if title else self._words(f"title.{name}")
        return Section(name=name, title=told, body=body)

    def _doings(self) -> list[tuple[ManyRanks, str]]:
        """What classes of ranks do, as far as their stacks tell."""
        told = zip(self._diagnosis.standings, self._shown.standings, strict=False)
        return [(standing.ranks, text.text) for standing, text in told if standing.ranks]

    def _verdict(self) -> Html:
        shown = self._shown
        graph = draw(self._graph, self._language)
        culprit = self._culprit()
        facts = [
            fact for fact in shown.facts if not culprit or fact.label != self._say("label.culprit")
        ]
        words_side = tag(
            "div",
            culprit,
            tag("dl", [join(tag("dt", f.label), tag("dd", prose(f.text))) for f in facts])
            if facts
            else None,
            self._next(),
        )
        return tag(
            "section",
            tag(
                "p",
                tag("span", shown.badge, class_="badge"),
                tag("code", shown.cause) if shown.cause else None,
                tag("span", shown.meaning, class_="quiet small") if shown.meaning else None,
                class_="badges",
            ),
            tag("h1", prose(shown.summary)),
            [tag("p", prose(warning), class_="warning") for warning in shown.warnings],
            tag("div", words_side, graph or None, class_="sides two" if graph else "sides"),
            class_=f"verdict {shown.outcome.value}",
            id="verdict",
            aria_label=shown.badge,
        )

    def _culprit(self) -> Html | None:
        diagnosis = self._diagnosis
        if not diagnosis.culprits and not diagnosis.culprit_hosts:
            return None
        label = self._say("label.culprit")
        text = next((prose(fact.text) for fact in self._shown.facts if fact.label == label), "")
        return tag("p", tag("span", label), text, class_="culprit")

    def _next(self) -> Html | None:
        """The one thing to do first."""
        shown = self._shown
        if shown.fixes:
            first, anchor = shown.fixes[0].title, "#fix"
        elif shown.collect and shown.outcome is not Outcome.HEALTHY:
            first, anchor = shown.collect[0].how, "#collect"
        else:
            return None
        return tag(
            "p",
            tag("strong", self._words("next")),
            tag("a", prose(first), href=anchor),
            class_="next",
        )

    def _fixes(self) -> Iterator[Html]:
        for number, fix in enumerate(self._shown.fixes, start=1):
            yield self._fix(number, fix)

    def _fix(self, number: int, fix: FixText) -> Html:
        heading = tag(
            "summary",
            tag("strong", f"{number}. ", prose(fix.title)),
            Html(" "),
            tag("span", f"({fix.aside})", class_="aside"),
        )
        notes = [join(tag("dt", note.label), tag("dd", prose(note.text))) for note in fix.notes]
        return tag(
            "details",
            heading,
            self._copied("\n".join(fix.patch)) if fix.patch else None,
            tag("dl", notes) if notes else None,
            class_="fix",
            open=number == 1,
        )

    def _copied(self, text: str) -> Html:
        self._copies += 1
        name = f"copy-{self._copies}"
        button = tag("button", self._words("copy"), type="button", data_copy=name, hidden=True)
        return tag("div", tag("pre", text, id=name, tabindex="0"), button, class_="patch")

    def _why(self) -> Html:
        shown, diagnosis = self._shown, self._diagnosis
        against = headed(self._say("label.against")) + shown.against if shown.against else ""
        quotes = self._quotes(shown.evidence, quoted_lines(diagnosis))
        return join(
            tag("p", prose(shown.why)) if shown.why else None,
            tag("p", prose(against), class_="quiet") if against else None,
            join(tag("h3", self._say("label.evidence")), quotes) if quotes else None,
        )

    def _quotes(self, quotes: Iterable[Quote], sources: Iterable[Provenance]) -> Html:
        """Each with the lines around it, where they were kept."""
        first = {one_line(source.text)[:80]: source for source in reversed(list(sources))}
        return join([self._quote(quote, first.get(quote.text[:80])) for quote in quotes])

    def _quote(self, quote: Quote, source: Provenance | None) -> Html:
        said = join(tag("code", quote.place), tag("span", quote.text, class_="said"))
        more = tag("span", quote.more, class_="quiet small") if quote.more else None
        key = None if source is None or source.line is None else (source.artifact, source.line)
        excerpt = None if key is None else self._diagnosis.excerpts.get(key)
        if excerpt is None or key is None:
            return tag("p", said, Html(" "), more, class_="quoted")
        return tag("details", tag("summary", said), _excerpt(excerpt, key[1]), more)

    def _time(self) -> Html | None:
        found = self._diagnosis.activity
        if found is None:
            return None
        classes = [box.ranks for box in self._graph.boxes]
        lanes = heatmap.by_class(found, classes, self._language)
        coverage = self._diagnosis.coverage
        ranks = RankSpans.of(coverage.ranks_seen) | RankSpans.of(coverage.ranks_silent)
        for members in classes:
            ranks |= members
        return join(
            tag("p", self._words(f"basis.{found.basis.value}"), class_="quiet small"),
            join(tag("h3", self._words("heat.classes")), lanes) if lanes else None,
            tag("h3", self._words("heat.ranks")),
            heatmap.by_rank(found, self._language, ranks),
            heatmap.legend(found, self._language),
        )

    def _story(self) -> Html | None:
        steps = self._shown.story
        if not steps:
            return None
        head = [self._words(f"column.{name}") for name in ("at", "who", "what")]
        rows = [
            (step.at, step.who, [prose(step.what), Html(" "), tag("code", step.place)])
            for step in steps
        ]
        return table(head, rows, self._say("label.story"))

    def _collect(self) -> Html | None:
        decides = self._say("label.decides")
        items = [
            tag(
                "li",
                tag("strong", prose(errand.what)),
                Html(" "),
                self._copied(errand.how) if _is_command(errand.how) else prose(errand.how),
                tag("div", prose(headed(decides) + errand.decides), class_="quiet small"),
            )
            for errand in self._shown.collect
        ]
        return tag("ol", items) if items else None

    def _coverage(self) -> Html:
        coverage, shown = self._diagnosis.coverage, self._shown
        facts = []
        if coverage.world_size is not None:
            facts.append((self._words("coverage.world"), f"{coverage.world_size:,}"))
        if coverage.ranks_seen:
            seen = f"{format_ranks(coverage.ranks_seen)} ({len(coverage.ranks_seen):,})"
            facts.append((self._words("coverage.seen"), seen))
        if coverage.ranks_silent:
            silent = RankSpans.of(coverage.ranks_silent)
            facts.append(
                (self._words("coverage.silent"), f"{format_ranks(silent)} ({len(silent):,})")
            )
        if coverage.sources:
            told = ", ".join(
                f"{count:,} × {one_line(kind)}" for kind, count in coverage.sources.items() if count
            )
            facts.append((self._words("coverage.sources"), told))
        for name, (version, basis) in self._diagnosis.versions.items():
            told = self._say("page.version", version=version, basis=basis)
            facts.append((one_line(name), one_line(told)))
        problems = _list(shown.problems)
        return join(
            tag("dl", [join(tag("dt", label), tag("dd", text)) for label, text in facts])
            if facts
            else None,
            _list(shown.unseen),
            join(tag("h3", self._say("label.problems")), problems) if problems else None,
        )

    def _pairs(self, facts: Iterable[LabelledText]) -> Html | None:
        items = [tag("li", tag("strong", f.label), Html(" "), prose(f.text)) for f in facts]
        return tag("ul", items) if items else None


def _excerpt(excerpt: Excerpt, line: int) -> Html:
    """The lines with their numbers, the quoted one marked."""
    told = excerpt.text.split("\n")
    lines = [
        (excerpt.first + n, " ".join(block(text))[:_LONGEST_LINE]) for n, text in enumerate(told)
    ]
    wide = len(str(lines[-1][0]))
    marked = [
        tag("mark", f"{number:>{wide}}  {text}")
        if number == line
        else f"{number:>{wide}}  {text}\n"
        for number, text in lines
    ]
    return tag("pre", marked, tabindex="0")


def _is_command(text: str) -> bool:
    return text.startswith(("unhang ", "py-spy ", "export ", "TORCH_", "NCCL_"))


def _list(lines: Iterable[str]) -> Html | None:
    items = [tag("li", prose(line)) for line in lines]
    return tag("ul", items) if items else None
