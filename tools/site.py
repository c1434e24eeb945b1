"""From the pages of docs/ to the site of `make site`: what MkDocs does not do by itself."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?:\.\./)+(?P<path>(?:ops|src|tests|tools)\b[^)\s]*)\)"
)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links to files of the source tree, which the site does not hold, become their names."""
    return _OUTSIDE.sub(r"\g<text>", markdown)
