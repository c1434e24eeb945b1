"""From a check to text: for a terminal, JSON, one line, Markdown for a log, and HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from unhang.model.ids import format_ranks
from unhang.model.preflight import CheckReport, Stage, Status, Suspect
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import sentence, sentences, write
from unhang.reporters.fields import fields
from unhang.reporters.html.frame import Section, page, words
from unhang.reporters.html.markup import Html, join, prose, table, tag
from unhang.reporters.json import dumps
from unhang.reporters.printable import headed, one_line, padded
from unhang.reporters.style import BOLD, DIM, GREEN, PLAIN, RED, YELLOW, Style

SCHEMA = "unhang.check/1"
FORMS = ("terminal", "json", "oneline", "html")
"""The forms of a check."""

_COLORS = {
    Status.PASS: GREEN,
    Status.WARN: YELLOW,
    Status.FAIL: RED,
    Status.SKIP: DIM,
}
_MOST = 200
_OF_A_STAGE = "name status host ranks measured expected message do id=message.key source seconds"
_OF_A_SUSPECT = "host ranks link status stage id=why.key why"


def render_check(report: CheckReport, form: str, style: Style = PLAIN) -> str:
    """Return the report in one of the forms, without a line end."""
    report = public(report, form)
    match form:
        case "json":
            return dumps(as_dict(report, style.language))
        case "oneline":
            return _oneline(report, style.language)
        case "html":
            return _html(report, style.language)
        case _:
            return "\n".join(_screen(report, style))


def as_dict(report: CheckReport, language: str = "en") -> dict[str, object]:
    """The contract as plain data."""
    return {
        "schema": SCHEMA,
        "ok": report.status is not Status.FAIL,
        **fields(report, "status verdict at hosts world_size=world", language),
        "stages": [fields(stage, _OF_A_STAGE, language, 3) for stage in report.stages],
        "suspects": [fields(s, _OF_A_SUSPECT, language) for s in report.suspects],
        **fields(report, "exclude=excluded pair_tests rounds seconds", digits=3),
    }


def _oneline(report: CheckReport, language: str) -> str:
    """For a scheduler's prolog: the status, the verdict, and the first fault."""
    parts = [f"CHECK {report.status.value.upper()}", write(report.verdict, language)]
    named = [_who(suspect) for suspect in report.suspects if suspect.status is Status.FAIL]
    if named:
        parts.append(", ".join(dict.fromkeys(named)))
    faults = [s for s in report.stages if s.status is Status.FAIL]
    faults += [s for s in report.stages if s.status is Status.WARN]
    parts += [headed(_name(s, language)) + write(s.message, language) for s in faults[:1]]
    line = " | ".join(" ".join(one_line(part).replace("|", "/").split()) for part in parts)
    return line if len(line) <= _MOST else line[: _MOST - 1].rstrip() + "…"


def _who(suspect: Suspect) -> str:
    return suspect.host or " - ".join(suspect.link)


def _name(stage: Stage, language: str) -> str:
    texts = sentences(language)
    known = texts.get(f"fact_name.{stage.name}") or texts.get(f"stage_name.{stage.name}")
    return known or stage.name


def _screen(report: CheckReport, style: Style) -> Iterator[str]:
    yield style.paint(one_line(sentence(report.verdict, style.language)), BOLD)
    yield ""
    for suspect in report.suspects:
        why = write(suspect.why, style.language)
        yield from _entry(suspect.status, one_line(_who(suspect)), why, style)
    if report.suspects:
        yield ""
    for stage in _classes(report):
        name = _name(stage, style.language)
        place = stage.host or (format_ranks(stage.ranks) and f"ranks {format_ranks(stage.ranks)}")
        many = len(report.hosts) > 1 or report.world > 1
        title = f"{name} ({place})" if many and place else name
        yield from _entry(
            stage.status, one_line(title), write(stage.message, style.language), style
        )
        if stage.do is not None:
            yield from _wrapped(f"→ {write(stage.do, style.language)}", style)
    yield ""
    yield from _footer(report, style.language)


def _classes(report: CheckReport) -> Iterator[Stage]:
    """Faults of every host, and once what all hosts passed alike."""
    seen: set[tuple[str, Status]] = set()
    for stage in report.stages:
        alike = (stage.name, stage.status)
        if stage.status in (Status.PASS, Status.SKIP) and len(report.hosts) > 1:
            if alike in seen:
                continue
            seen.add(alike)
        yield stage


def _entry(status: Status, title: str, text: str, style: Style) -> Iterator[str]:
    word = write(Message(key=f"check_status.{status.value}"), style.language)
    lines = textwrap.wrap(one_line(headed(title) + text), max(40, style.width - 6)) or [title]
    yield f"{style.paint(padded(word, 5), _COLORS[status])} {lines[0]}"
    yield from (f"      {line}" for line in lines[1:])


def _wrapped(text: str, style: Style) -> Iterator[str]:
    yield from textwrap.wrap(
        one_line(text), max(40, style.width), initial_indent="      ", subsequent_indent="        "
    )


def _footer(report: CheckReport, language: str) -> Iterator[str]:
    if report.excluded:
        hosts = {"hosts": one_line(",".join(report.excluded))}
        yield write(Message(key="check.leave_out", values=hosts), language)
    if report.pair_tests:
        values: Mapping[str, object] = {"tests": report.pair_tests, "rounds": report.rounds}
        yield write(Message(key="check.tests", values=values), language)
    yield sentence(Message(key="check.took", values={"seconds": report.seconds}), language)


def _html(report: CheckReport, language: str) -> str:
    verdict = one_line(sentence(report.verdict, language))
    tone = {Status.FAIL: "cause", Status.WARN: "located"}.get(report.status, "healthy")
    footer = [tag("p", prose(line)) for line in _footer(report, language)]
    suspects = [
        _row(s.status, _who(s), write(s.why, language), None, language) for s in report.suspects
    ]
    stages = [
        _row(
            stage.status,
            " ".join(part for part in (_name(stage, language), stage.host) if part),
            write(stage.message, language),
            None if stage.do is None else write(stage.do, language),
            language,
        )
        for stage in report.stages
    ]
    finding = words("check.finding", language)
    head = (words("check.result", language), words("check.place", language), finding)
    bad = Section(
        name="suspects",
        title=words("check.suspects", language),
        body=table(head, suspects) if suspects else None,
    )
    head = (words("check.result", language), words("check.check", language), finding)
    checks = Section(name="checks", title=words("check.checks", language), body=table(head, stages))
    top = tag("section", tag("h1", verdict), footer, class_=f"verdict {tone}")
    return page(f"{verdict} · unhang", top, [bad, checks], language)


def _row(status: Status, title: str, text: str, do: str | None, language: str) -> Sequence[Html]:
    word = write(Message(key=f"check_status.{status.value}"), language)
    more = None if do is None else tag("p", "→ ", prose(one_line(do)))
    said = join(prose(one_line(text)), more)
    return tag("strong", word, class_=f"at-{status.value}"), join(one_line(title)), said
