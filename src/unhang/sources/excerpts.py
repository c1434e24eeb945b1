"""From quoted lines to the lines around them, read again from plain local files."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from unhang.model.diagnosis import Excerpt
from unhang.model.provenance import Provenance

AROUND = 4
"""Lines before and after."""
_MOST_BYTES = 256 << 20
_LONGEST = 2_000
_CHECKED = 24
"""Letters and digits of the quoted line that must be found where it is said to stand."""


def excerpts(quoted: Iterable[Provenance]) -> dict[tuple[str, int], Excerpt]:
    """Read the lines around each quoted one.

    What lies in an archive, came through a pipe, or has changed since is left out: a line is kept
    only where it still holds what was quoted.
    """
    wanted: dict[str, dict[int, str]] = {}
    for source in quoted:
        if source.line is not None:
            wanted.setdefault(source.artifact, {})[source.line] = source.text
    found: dict[tuple[str, int], Excerpt] = {}
    for artifact, lines in wanted.items():
        path = Path(artifact)
        try:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                told = _around(path, lines)
                found |= {(artifact, line): excerpt for line, excerpt in told.items()}
        except (OSError, ValueError):
            continue
    return found


def _around(path: Path, lines: dict[int, str]) -> dict[int, Excerpt]:
    spans = {line: range(max(1, line - AROUND), line + AROUND + 1) for line in lines}
    needed = {number for span in spans.values() for number in span}
    kept: dict[int, str] = {}
    with path.open("rb") as file:
        for number, raw in enumerate(islice(file, max(needed)), start=1):
            if number in needed:
                kept[number] = raw[:_LONGEST].decode("utf-8", "replace").rstrip("\r\n")
    return {
        line: Excerpt(span[0], "\n".join(kept[n] for n in span if n in kept))
        for line, span in spans.items()
        if _letters(lines[line])[:_CHECKED] in _letters(kept.get(line, "")) and line in kept
    }


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
