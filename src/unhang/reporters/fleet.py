"""From what is known of many jobs to text: for a terminal, Markdown, JSON and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from unhang.model.fleet import Fleet, JobRecord, Recurrence
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import write
from unhang.reporters.catalogue.by_text import told, translated
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.style import BOLD, PLAIN, Style
from unhang.reporters.tables import table

SCHEMA = "unhang.fleet/1"
_MOST_JOBS, _MOST_JOBS_OF_A_PAGE = 10, 500
_MOST_WEEKS = 12
_MOST_NEWS = 5

_Part: TypeAlias = "str | list[tuple[str, ...]]"
"""A line, or a table whose first row is its head."""


def render_fleet(fleet: Fleet, form: str, style: Style = PLAIN) -> str:
    """Return the summary in one of the forms, without a line end; pages for others hide secrets."""
    fleet = public(fleet, form)
    if form == "json":
        return dumps({"schema": SCHEMA, **_as_dict(fleet)})
    summary = _Summary(fleet, style.language)
    if form == "html":
        return summary.page()
    return "\n".join(summary.lines(style, markdown=form == "markdown"))


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What is new since the last survey, in words: a sentence, and a line for each failed job."""

    summary: str
    failures: tuple[str, ...]


def news_of(fleet: Fleet, language: str) -> News:
    """Put the new failures into words, the latest first."""
    return _Summary(fleet, language).news()


class _Summary:
    """The parts of a summary, each a key and what stands below its title: lines and tables."""

    def __init__(self, fleet: Fleet, language: str) -> None:
        self._fleet = fleet
        self._language = language

    def _words(self, key: str, **values: object) -> str:
        return write(Message(key=f"fleet.{key}", values=values), self._language)

    def _head(self) -> str:
        fleet = self._fleet
        failed = sum(job.failed for job in fleet.jobs)
        return self._words("jobs", jobs=len(fleet.jobs), failed=failed, judged=fleet.judged)

    def lines(self, style: Style, *, markdown: bool) -> Iterator[str]:
        """For a terminal, or as Markdown."""
        yield self._head()
        for key, parts in self._parts(_MOST_JOBS):
            title = self._words(key)
            yield from ("", f"## {title}", "") if markdown else ("", style.paint(title, BOLD))
            for part in parts:
                yield from [part] if isinstance(part, str) else table(part, markdown=markdown)
        for problem in self._fleet.problems:
            yield told(problem, self._language)

    def page(self) -> str:
        """One self-contained document."""
        from unhang.reporters.html import markup
        from unhang.reporters.html.frame import Section, page

        def shown(part: _Part) -> markup.Html:
            if isinstance(part, str):
                return markup.tag("p", markup.prose(part))
            head, *rows = part
            return markup.table(head, rows)

        failed = any(job.failed for job in self._fleet.jobs)
        top = markup.tag(
            "section",
            markup.tag("h1", self._head()),
            [markup.tag("p", told(problem, self._language)) for problem in self._fleet.problems],
            class_=f"verdict {'cause' if failed else 'healthy'}",
        )
        sections = [
            Section(name=key, title=self._words(key), body=[shown(part) for part in parts])
            for key, parts in self._parts(_MOST_JOBS_OF_A_PAGE)
        ]
        return page(f"{self._head()} · unhang fleet", top, sections, self._language)

    def _parts(self, most: int) -> Iterator[tuple[str, list[_Part]]]:
        fleet = self._fleet
        if fleet.causes:
            yield "causes", [self._causes()]
        if len(fleet.weeks) > 1:
            weeks = [(w.week, str(w.jobs), str(w.failed)) for w in fleet.weeks[-_MOST_WEEKS:]]
            yield (
                "weeks",
                [[("", self._words("column_jobs"), self._words("column_failed")), *weeks]],
            )
        yield "hosts", list(self._recurring("hosts", fleet.hosts, fleet.hosts_tested))
        if fleet.settings_tested:
            found = self._recurring("settings", fleet.settings, fleet.settings_tested)
            yield "settings", list(found)
        failed = _latest_first(job for job in fleet.jobs if job.failed or job.error)
        if failed:
            titles = (self._words("column_job"), self._words("column_verdict"))
            more = [self._words("more", count=len(failed) - most)] if len(failed) > most else []
            yield (
                "latest",
                [[titles, *((_short(j.name), self._said(j)) for j in failed[:most])], *more],
            )

    def news(self) -> News:
        """What people are told who do not ask."""
        fleet = self._fleet
        new = _latest_first(job for job in fleet.jobs if job.name in set(fleet.new_failures))
        told = [
            self._words("failure", job=_short(job.name), verdict=self._said(job))
            for job in new[:_MOST_NEWS]
        ]
        if len(new) > _MOST_NEWS:
            told.append(self._words("more_failures", count=len(new) - _MOST_NEWS))
        failed = sum(job.failed for job in fleet.jobs)
        summary = self._words("new", new=len(new), jobs=len(fleet.jobs), failed=failed)
        return News(summary=summary, failures=tuple(told))

    def _said(self, job: JobRecord) -> str:
        if job.error:
            return one_line(translated(job.error, self._language))
        return one_line(job.summaries.get(self._language, job.summary))

    def _causes(self) -> list[tuple[str, ...]]:
        rows = [
            (
                count.cause or self._words("no_cause"),
                str(count.jobs),
                _number(count.gpu_hours),
                _number(count.waited_gpu_hours),
            )
            for count in self._fleet.causes
        ]
        head = ("", *(self._words(f"column_{name}") for name in ("jobs", "gpu_hours", "waited")))
        return [head, *rows]

    def _recurring(self, kind: str, found: Sequence[Recurrence], tested: int) -> Iterator[_Part]:
        if not found:
            yield self._words(f"none_{kind}", tested=tested)
            return
        for one in found:
            yield self._words(
                f"one_of_{kind}",
                name=one_line(one.name),
                failures=one.failures,
                jobs=one.jobs,
                expected=_number(one.expected),
                ratio=_number(one.ratio.estimate),
                low=_number(one.ratio.low),
                high=_number(one.ratio.high),
                p=f"{one.p:.2g}",
            )
        yield self._words("tested", tested=tested, by=self._words(f"by_{self._fleet.by}"))
        if kind == "hosts":
            names = ",".join(one_line(one.name) for one in found)
            yield self._words("exclude", names=names)


def _latest_first(jobs: Iterable[JobRecord]) -> list[JobRecord]:
    return sorted(jobs, key=lambda job: -(job.started or 0.0))


def _short(name: str) -> str:
    return one_line(name if len(name) <= 40 else f"…{name[-39:]}")


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _as_dict(fleet: Fleet) -> dict[str, object]:
    data = asdict(fleet)
    for one in (*data["hosts"], *data["settings"]):
        ratio = one["ratio"]
        one["ratio"] = {k: None if math.isinf(v) else v for k, v in ratio.items()}
    data["problems"] = [{"artifact": p.artifact, "message": p.message} for p in fleet.problems]
    return data
