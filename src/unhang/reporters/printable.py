"""From hostile text to text that a terminal or a page can show without harm.

Logs, paths and exception messages are written by others: they may hold escape sequences that
clear the screen or set its title, marks that reverse the direction of writing, and broken
surrogates that cannot be encoded.
"""

from __future__ import annotations

import unicodedata

from unhang import lazy_re as re

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and its relatives
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
)

_WIDE, _OPENING, _CLOSING = (
    "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef",
    "（「『《“",
    "，。、；：！？）」』》”",
)
_COUNT = r"(?:\d[\d,.]* (?=[\u4e00-\u9fff]))?"
_PIECES = re.compile(rf"\s*[{_OPENING}]*{_COUNT}(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*\s*")
"""Where a line may be broken: at blanks, beside each Chinese letter, but not behind a number."""


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


def fill(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` columns; a Chinese letter takes two.

    A line may end between Chinese letters, but not before a mark that closes a clause, nor behind
    one that opens it or a number; a longer word is kept whole.

    >>> fill("rank 0 没有加入，其他都在等", 12)
    ['rank 0 没有', '加入，其他都', '在等']
    >>> fill("等待了 50 秒（上限 10 秒）", 12)
    ['等待了 50 秒', '（上限', '10 秒）']
    """
    lines, line = [], ""
    for piece in _PIECES.findall(text):
        if line and columns(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def headed(label: str) -> str:
    """Return a label and its colon: the wide one after a Chinese letter.

    >>> headed("risk"), headed("风险")
    ('risk: ', '风险：')
    """
    return label + ("：" if unicodedata.east_asian_width(label[-1:] or " ") in "WF" else ": ")


def padded(text: str, width: int) -> str:
    """Return a text with spaces up to `width` columns.

    >>> padded("权重", 6), padded("ranks", 6)
    ('权重  ', 'ranks ')
    """
    return text + " " * (width - columns(text))


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes; wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)
