"""Finds secrets that were seen before, in the environment of the job, however they are written."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from unhang import lazy_re as re
from unhang.redaction.names import is_secret_name
from unhang.redaction.spans import Span
from unhang.redaction.values import is_harmless

_SHORTEST = 6
"""A known secret shorter than this is not looked for in other texts: it would hit half of them."""

_LINE = 16
"""Characters; a line of a secret of many lines is looked for alone from this length on."""


def known(environments: Iterable[Mapping[str, str]]) -> re.Pattern[str] | None:
    """A pattern of all secrets in environments; None where there are none."""
    texts = {
        form
        for environment in environments
        for name, value in environment.items()
        if is_secret_name(name) and not is_harmless(value.strip())
        for form in _forms(value.strip())
    }
    if not texts:
        return None
    ordered = sorted(texts, key=lambda text: (-len(text), text))
    return re.compile("|".join(re.escape(text) for text in ordered))


def find_known(text: str, pattern: re.Pattern[str] | None) -> Iterator[Span]:
    """Yield where known secrets stand."""
    if pattern is not None:
        for match in pattern.finditer(text):
            yield Span(match.start(), match.end(), "known secret")


def _forms(value: str) -> set[str]:
    """A value as text, URL, JSON, HTML, `repr` and Base64 write it."""
    if len(value) < _SHORTEST:
        return set()
    written = json.dumps(value)[1:-1]
    forms = {
        *(value, quote(value, safe=""), quote_plus(value), written, written.replace("/", "\\/")),
        *(html.escape(value), repr(value)[1:-1]),
        base64.b64encode(value.encode(errors="replace")).decode().rstrip("="),
        *(line.strip() for line in value.splitlines() if len(line.strip()) >= _LINE),
    }
    return {form for form in forms if len(form) >= _SHORTEST}
