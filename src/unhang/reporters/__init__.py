"""From a diagnosis to text; `REPORTERS` lists the forms."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from unhang.reporters.style import PLAIN, Style

if TYPE_CHECKING:
    from unhang.model.diagnosis import Diagnosis

REPORTERS: dict[str, str] = {
    "terminal": "unhang.reporters.terminal",
    "json": "unhang.reporters.json",
    "markdown": "unhang.reporters.markdown",
}
"""Every form by the name that `--format` takes; its module has a function `render`."""


def render(diagnosis: Diagnosis, form: str, style: Style = PLAIN) -> str:
    """Return `diagnosis` in one of the forms, without a line end.

    The form's module is loaded only now: the terminal report needs rich, the others do not.

    Raises:
        KeyError: no such form.
    """
    text: str = importlib.import_module(REPORTERS[form]).render(diagnosis, style)
    return text
