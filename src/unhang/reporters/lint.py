"""From a look at settings to text: for a terminal, JSON, SARIF and GitHub annotations."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from unhang.model.lint import LintFinding, LintReport, Severity
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.catalogue.by_text import told
from unhang.reporters.fields import fields
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.style import BOLD, CYAN, DIM, PLAIN, RED, YELLOW, Style

SCHEMA = "unhang.lint/1"
FORMS = ("terminal", "json", "sarif", "github")
"""The forms of a lint report."""

_COLORS = {
    Severity.ERROR: RED,
    Severity.WARNING: YELLOW,
    Severity.INFO: CYAN,
}
_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_lint(report: LintReport, form: str, style: Style = PLAIN) -> str:
    """Return the report in one of the forms, without a line end; forms for others hide secrets."""
    report = public(report, form)
    match form:
        case "json":
            return dumps(_as_dict(report, style.language))
        case "sarif":
            return dumps(_sarif(report, style.language))
        case "github":
            return "\n".join(_annotation(finding, style.language) for finding in report.findings)
        case _:
            return "\n".join(_screen(report, style))


def render_repaired(path: str, style: Style = PLAIN) -> str:
    """What is said of a file that `--fix` has written."""
    return one_line(sentence(Message(key="lint.repaired", values={"path": path}), style.language))


def _as_dict(report: LintReport, language: str) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "findings": [
            {
                **fields(finding, "code severity setting value"),
                "where": str(finding.where),
                "message": sentence(finding.reason, language),
                "why": sentence(_why(finding), language),
                "replacement": finding.replacement,
            }
            for finding in report.findings
        ],
        **fields(report, "files settings"),
        "problems": [fields(problem, "artifact message") for problem in report.problems],
    }


def _why(finding: LintFinding) -> Message:
    return Message(key=f"lint.{finding.code}.why")


def _screen(report: LintReport, style: Style) -> Iterator[str]:
    for finding in report.findings:
        yield from _entry(finding, style)
    for problem in report.problems:
        yield told(problem, style.language)
    count = len(report.findings)
    key = "lint.clean" if count == 0 else "lint.count"
    values = {"count": count, "files": report.files, "settings": report.settings}
    yield sentence(Message(key=key, values=values), style.language)


def _entry(finding: LintFinding, style: Style) -> Iterator[str]:
    """Place and setting, the sentence, and what to write in its place."""
    severity = write(Message(key=f"lint.{finding.severity.value}"), style.language)
    setting = finding.setting if finding.value is None else f"{finding.setting}={finding.value}"
    yield (
        f"{one_line(str(finding.where))}: {style.paint(severity, _COLORS[finding.severity])}"
        f" {style.paint(finding.code, DIM)} {style.paint(one_line(setting), BOLD)}"
    )
    text = one_line(sentence(finding.reason, style.language))
    yield from textwrap.wrap(
        text, max(40, style.width), initial_indent="    ", subsequent_indent="    "
    )
    if finding.replacement is not None and finding.replacement not in sentence(finding.reason):
        use = Message(key="lint.use", values={"replacement": one_line(finding.replacement)})
        yield f"    {write(use, style.language)}"
    yield ""


def _annotation(finding: LintFinding, language: str) -> str:
    """One workflow command; its separators are escaped as GitHub asks."""
    place = f"file={_property(finding.where.artifact)}"
    if finding.where.line is not None:
        place += f",line={finding.where.line}"
    title = _property(f"{finding.code} {finding.setting}")
    text = sentence(finding.reason, language)
    return f"::{_GITHUB[finding.severity]} {place},title={title}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _uri(artifact: str) -> str:
    """Relative to the folder at hand where it lies in it, as a repository's pages want it."""
    path, here = Path(os.path.normpath(artifact)), Path.cwd()
    if path.is_absolute() or ".." in path.parts:
        path = Path(os.path.normpath(here / path))
        if not path.is_relative_to(here):
            return path.as_uri()
        path = path.relative_to(here)
    return quote(path.as_posix(), safe="/")


def _sarif(report: LintReport, language: str) -> dict[str, object]:
    codes = sorted({finding.code for finding in report.findings})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "unhang",
                        "rules": [_sarif_rule(code, language) for code in codes],
                    }
                },
                "results": [_sarif_result(finding, language) for finding in report.findings],
            }
        ],
    }


def _sarif_rule(code: str, language: str) -> dict[str, object]:
    text = sentence(Message(key=f"lint.{code}.why"), language)
    return {"id": code, "shortDescription": {"text": text}}


def _sarif_result(finding: LintFinding, language: str) -> dict[str, object]:
    uri = _uri(finding.where.artifact)
    base = {} if uri.startswith("file:") else {"uriBaseId": "%SRCROOT%"}
    location: dict[str, object] = {"artifactLocation": {"uri": uri, **base}}
    if finding.where.line is not None:
        location["region"] = {"startLine": max(1, finding.where.line)}
    return {
        "ruleId": finding.code,
        "level": _SARIF[finding.severity],
        "message": {"text": sentence(finding.reason, language)},
        "locations": [{"physicalLocation": location}],
    }
