"""From a diagnosis to text; `REPORTERS` lists the forms."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from unhang.model.guard import Guard
from unhang.model.waits import NO_WAITS
from unhang.reporters.style import PLAIN, Style

if TYPE_CHECKING:
    from unhang.model.diagnosis import Diagnosis
    from unhang.redaction import Redactor

T = TypeVar("T")

REPORTERS: dict[str, str] = {
    "terminal": "unhang.reporters.terminal",
    "json": "unhang.reporters.json",
    "markdown": "unhang.reporters.markdown",
    "notebook": "unhang.reporters.notebook",
    "oneline": "unhang.reporters.oneline",
    "html": "unhang.reporters.html",
    "prompt": "unhang.reporters.prompt",
}
"""Every form by the name that `--format` takes; its module has a function `render`."""


PUBLIC_FORMS = frozenset({"markdown", "html", "prompt", "sarif", "github"})
"""Forms that are made for other people's eyes: secrets are replaced unless the caller says no."""


def render(
    diagnosis: Diagnosis, form: str, style: Style = PLAIN, *, redact: bool | None = None
) -> str:
    """Return `diagnosis` in one of the forms, without a line end.

    The form's module is loaded only now: the terminal report needs rich, the others do not.

    Args:
        diagnosis: the verdict.
        form: one of `REPORTERS`.
        style: for the reader's screen.
        redact: whether secrets are replaced; None = in `PUBLIC_FORMS`.

    Raises:
        KeyError: no such form.
    """
    if redact or (redact is None and form in PUBLIC_FORMS):
        from unhang.redaction import Redactor

        diagnosis = redacted(diagnosis, Redactor([os.environ]))
    write = importlib.import_module(REPORTERS[form]).render
    try:
        text: str = write(diagnosis, style)
    except Exception as error:
        text = write(_headline_only(diagnosis, form, error), style)
    return text


def public(told: T, form: str) -> T:
    """Return what a report of any command tells: without secrets in a form of `PUBLIC_FORMS`."""
    if form not in PUBLIC_FORMS:
        return told
    from unhang.redaction import Redactor

    return Redactor([os.environ]).tree(told)


def _headline_only(diagnosis: Diagnosis, form: str, error: Exception) -> Diagnosis:
    """What a report can do without, left out: something in it could not be written."""
    guard = Guard()
    guard.failed(f"the {form} report", error)
    return replace(
        diagnosis,
        candidates=(),
        fixes=(),
        advice_rejected=(),
        story=(),
        collect_next=(),
        statements=(),
        standings=(),
        warnings=(),
        earlier=(),
        located=None,
        call=None,
        waits=NO_WAITS,
        activity=None,
        excerpts={},
        problems=(*diagnosis.problems, *guard.problems),
    )


def redacted(diagnosis: Diagnosis, redactor: Redactor) -> Diagnosis:
    """Return the same verdict without secrets; `redacted` of it counts them by kind."""
    redactor.learn_hosts(diagnosis.culprit_hosts)
    redactor.learn(diagnosis)
    told = redactor.tree(diagnosis)
    hosts = frozenset(redactor.host(host) for host in diagnosis.culprit_hosts)
    return replace(told, culprit_hosts=hosts, redacted=redactor.counts)
