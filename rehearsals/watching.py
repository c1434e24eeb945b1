"""What `unhang run` said while it watched a situation, beside the truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from unhang.live.run_folder.layout import RunFolder
from unhang.model.ids import Ranks

_ACCUSATIONS = frozenset({"hang_confirmed", "exited"})
"""Events that hold somebody responsible; the others tell who is late, which may change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the live judge said.

    Attributes:
        named_after_s: from the fault to the first event that names the true ranks alone, or None.
        kind: of that event.
        accused: ranks that an accusation named falsely.
    """

    named_after_s: float | None = None
    kind: str | None = None
    accused: tuple[int, ...] = ()


def what_was_said(run: Path, culprits: Ranks, moments: Sequence[str]) -> Said:
    """Read the events of a run.

    Args:
        run: its folder.
        culprits: the true ones.
        moments: ISO times of the faults. Where there are several, the latest one before the event
            is what it is about: a job survives the first slow save, and not the second.
    """
    events = _events(run)
    accused = frozenset[int]().union(
        *(event["culprits"] for event in _naming(events) if event["kind"] in _ACCUSATIONS)
    )
    named = next((e for e in _naming(events) if frozenset(e["culprits"]) == culprits), None)
    falsely = tuple(sorted(accused - culprits))
    if named is None:
        return Said(accused=falsely)
    after_s = _since_s(str(named["at"]), moments)
    return Said(named_after_s=after_s, kind=str(named["kind"]), accused=falsely)


def _naming(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if isinstance(event.get("culprits"), list)]


def _events(run: Path) -> list[dict[str, Any]]:
    path = RunFolder(run).events
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _since_s(at: str, moments: Sequence[str]) -> float | None:
    """Seconds since the latest of the moments before `at`; None where none was before."""
    end = datetime.fromisoformat(at)
    gaps = [(end - datetime.fromisoformat(moment)).total_seconds() for moment in moments]
    return min((round(gap, 1) for gap in gaps if gap >= 0), default=None)
