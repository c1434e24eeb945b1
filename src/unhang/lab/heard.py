"""What the live judge said during a drill, from the run folder that `unhang run` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhang.live.books.folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the live judge said of a job.

    Attributes:
        hang: it named a hang; else the job had ended before there was one.
        at: ISO time.
        culprits: global ranks.
        phase: they were in, or None.
        why: its sentence.
    """

    hang: bool
    at: str
    culprits: tuple[int, ...]
    phase: str | None
    why: str


def hang_named(run: Path) -> Word | None:
    """The first hang that was confirmed, or None."""
    rows = (row for row in _events(run) if row.get("kind") == "hang_confirmed")
    return next((_word(row, "why") for row in rows), None)


def last_word(run: Path) -> Word | None:
    """The verdict on a job that ended by itself, or None."""
    rows = [row for row in _events(run) if row.get("kind") == "exited" and "outcome" in row]
    failed = bool(rows) and rows[-1]["outcome"] != "healthy"
    return _word(rows[-1], "verdict") if failed else None


def _word(row: dict[str, Any], sentence: str) -> Word:
    return Word(
        hang=row.get("kind") == "hang_confirmed",
        at=str(row["at"]),
        culprits=tuple(row.get("culprits", ())),
        phase=row.get("phase"),
        why=str(row.get(sentence, "")),
    )


def _events(run: Path) -> Iterator[dict[str, Any]]:
    path = RunFolder(run).events
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # its last line is just being written
            continue
        if isinstance(row, dict):
            yield row
