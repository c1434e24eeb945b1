"""From what is known of many jobs to text: for a terminal, Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from unhang.model.fleet import Fleet, JobRecord, Recurrence
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import write
from unhang.reporters.catalogue.by_text import told
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.style import BOLD, PLAIN, Style
from unhang.reporters.tables import table

SCHEMA = "unhang.fleet/1"
_MOST_JOBS = 10
_MOST_WEEKS = 12


def render_fleet(fleet: Fleet, form: str, style: Style = PLAIN) -> str:
    """Return the summary in one of the forms, without a line end; Markdown hides secrets."""
    fleet = public(fleet, form)
    if form == "json":
        return dumps({"schema": SCHEMA, **_as_dict(fleet)})
    return "\n".join(_Page(fleet, style, markdown=form == "markdown").lines())


class _Page:
    def __init__(self, fleet: Fleet, style: Style, *, markdown: bool) -> None:
        self._fleet = fleet
        self._style = style
        self._markdown = markdown

    def _words(self, key: str, **values: object) -> str:
        return write(Message(key=f"fleet.{key}", values=values), self._style.language)

    def lines(self) -> Iterator[str]:
        fleet = self._fleet
        failed = sum(job.failed for job in fleet.jobs)
        yield self._words("jobs", jobs=len(fleet.jobs), failed=failed, judged=fleet.judged)
        yield from self._causes()
        yield from self._weeks()
        yield from self._recurring("hosts", fleet.hosts, fleet.hosts_tested)
        if fleet.settings_tested:
            yield from self._recurring("settings", fleet.settings, fleet.settings_tested)
        yield from self._latest()
        for problem in fleet.problems:
            yield told(problem, self._style.language)

    def _title(self, key: str) -> Iterator[str]:
        title = self._words(key)
        yield ""
        if self._markdown:
            yield f"## {title}"
            yield ""
        else:
            yield self._style.paint(title, BOLD)

    def _causes(self) -> Iterator[str]:
        if not self._fleet.causes:
            return
        yield from self._title("causes")
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
        yield from table([head, *rows], markdown=self._markdown)

    def _weeks(self) -> Iterator[str]:
        if len(self._fleet.weeks) > 1:
            yield from self._title("weeks")
            rows = [(w.week, str(w.jobs), str(w.failed)) for w in self._fleet.weeks[-_MOST_WEEKS:]]
            head = ("", self._words("column_jobs"), self._words("column_failed"))
            yield from table([head, *rows], markdown=self._markdown)

    def _recurring(self, kind: str, found: Sequence[Recurrence], tested: int) -> Iterator[str]:
        yield from self._title(kind)
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

    def _latest(self) -> Iterator[str]:
        failed = [job for job in self._fleet.jobs if job.failed or job.error]
        if not failed:
            return
        failed.sort(key=lambda job: -(job.started or 0.0))
        yield from self._title("latest")
        yield from table(
            [(_short(job.name), _told(job)) for job in failed[:_MOST_JOBS]], markdown=self._markdown
        )
        if len(failed) > _MOST_JOBS:
            yield self._words("more", count=len(failed) - _MOST_JOBS)


def _told(job: JobRecord) -> str:
    return one_line(job.error or job.summary)


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
