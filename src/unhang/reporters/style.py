"""How a report is to be set: language, width, colour."""

from __future__ import annotations

from dataclasses import dataclass

BOLD, DIM = "\x1b[1m", "\x1b[2m"
RED, YELLOW, CYAN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"
GREEN, BRIGHT_GREEN = "\x1b[32m", "\x1b[1;32m"
_PLAIN = "\x1b[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What the reader's screen and locale ask for.

    Attributes:
        language: a language of the catalogue.
        width: columns; only the terminal report wraps.
        color: whether escape sequences for colour may be written.
    """

    language: str = "en"
    width: int = 100
    color: bool = False

    def paint(self, text: str, sequence: str) -> str:
        """Return the text with an escape sequence around it, where there may be any."""
        return f"{sequence}{text}{_PLAIN}" if self.color else text


PLAIN = Style()
"""English, 100 columns, no colour: what a pipe gets."""
