"""From hostile text to text that a terminal or a page can show without harm.

Logs, paths and exception messages are written by others: they may hold escape sequences that
clear the screen or set its title, marks that reverse the direction of writing, and broken
surrogates that cannot be encoded.
"""

from __future__ import annotations

import re

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and its relatives
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
)


def one_line(text: str) -> str:
    r"""Return `text` without escape sequences, on one line.

    >>> one_line("\x1b[2J\x1b]0;owned\x07loss\t=\n1")
    'loss = 1'
    """
    return _visible(_ESCAPE_SEQUENCE.sub("", text)).strip()


def block(text: str) -> tuple[str, ...]:
    r"""Return the lines of `text`, each made harmless, with their indentation.

    >>> block("a:\n  b: 1\n")
    ('a:', '  b: 1')
    """
    plain = _ESCAPE_SEQUENCE.sub("", text).expandtabs(4).strip("\n")
    return tuple(_visible(line).rstrip() for line in plain.split("\n")) if plain else ()


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)
