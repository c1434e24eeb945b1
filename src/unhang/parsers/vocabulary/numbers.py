"""From what a pattern caught, or did not, to a number."""

from __future__ import annotations


def whole(text: str | None) -> int | None:
    """`"8"` is 8; what was not caught is unknown."""
    return None if text is None else int(text)
