"""From a diagnosis to text; `REPORTERS` lists the forms."""

from __future__ import annotations

from collections.abc import Callable

from unhang.model.diagnosis import Diagnosis
from unhang.reporters.json import render as render_json

REPORTERS: dict[str, Callable[[Diagnosis], str]] = {"json": render_json}
"""Every form by the name that `--format` takes."""
