"""From raw bytes of a line to text without colours, cursor moves and control characters."""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, hyperlinks
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # strings that terminals swallow
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\^\[\[[0-9;]*[A-Za-z]|\^\[(?=[\s\[]|$)"  # escapes that somebody pasted as `^[[A`
)
_CONTROLS = dict.fromkeys((*range(9), *range(10, 32), 127, *range(128, 160), 65279))
"""Everything below blank but the tab: NULs of sparse files, backspaces, bells."""


def clean(text: str) -> str:
    r"""Remove what a terminal would not show.

    >>> clean("\x1b[36m(Worker pid=7)\x1b[0m \x00ready")
    '(Worker pid=7) ready'
    """
    if text.isascii() and text.isprintable() and "^[" not in text:
        return text
    return _ESCAPES.sub("", text).translate(_CONTROLS)
