"""How a report is to be set: language, width, colour."""

from __future__ import annotations

from dataclasses import dataclass


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


PLAIN = Style()
"""English, 100 columns, no colour: what a pipe gets."""
