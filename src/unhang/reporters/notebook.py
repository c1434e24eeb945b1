"""The verdict as a small piece of HTML, for a cell of a notebook; all text is escaped."""

from __future__ import annotations

from html import escape

from unhang.model.diagnosis import Diagnosis
from unhang.reporters.oneline import render as line
from unhang.reporters.style import PLAIN, Style
from unhang.reporters.terminal import render as terminal


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the HTML."""
    head, whole = escape(line(diagnosis, style)), escape(terminal(diagnosis, style))
    return f"<details open><summary><b>{head}</b></summary><pre>{whole}</pre></details>"
