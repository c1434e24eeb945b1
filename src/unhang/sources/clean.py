"""From raw bytes of a line to text without colours, cursor moves and control characters."""

from __future__ import annotations

from unhang import lazy_re as re

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
_WIDEST = " " * 120
"""No table has a wider gap. Many patterns allow blanks at several places in a row: what they cost
grows with a power of this width."""
_WIDER = re.compile(rf"\s{{{len(_WIDEST) + 1},}}")


def clean(text: str) -> str:
    r"""Remove what a terminal would not show, and the rest of a gap wider than any table's.

    >>> clean("\x1b[36m(Worker pid=7)\x1b[0m \x00ready")
    '(Worker pid=7) ready'
    >>> len(clean("status" + 9_000 * " " + "12"))
    128
    """
    if not (text.isascii() and text.isprintable() and "^[" not in text):
        text = _ESCAPES.sub("", text).translate(_CONTROLS)
    return _WIDER.sub(_WIDEST, text) if len(text) > len(_WIDEST) else text
