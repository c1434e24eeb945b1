"""What the live judge said during a drill, from the run folder that `unhang run` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhang.live.folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """A hang that the live judge named.

    Attributes:
        at: ISO time.
        culprits: global ranks.
        phase: they were in, or None.
        why: its sentence.
    """

    at: str
    culprits: tuple[int, ...]
    phase: str | None
    why: str


def first_confirmed(run: Path) -> Confirmed | None:
    """The first hang that was confirmed, or None."""
    for row in _events(run):
        if row.get("kind") == "hang_confirmed":
            return Confirmed(
                at=str(row["at"]),
                culprits=tuple(row.get("culprits", ())),
                phase=row.get("phase"),
                why=str(row.get("why", "")),
            )
    return None


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
