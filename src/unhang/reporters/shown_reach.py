"""What a fix acts on, in words of one language."""

from __future__ import annotations

from unhang.reporters.catalogue import sentences


def shown_reach(reaches: str, language: str) -> str:
    """Return the parts of `Fix.reaches`, each in words; what has none stands as it is."""
    texts = sentences(language)
    parts = (part.strip() for part in reaches.split(","))
    return texts["unit.comma"].join(
        texts.get(f"reach.{part.replace(' ', '_')}", part) for part in parts
    )
