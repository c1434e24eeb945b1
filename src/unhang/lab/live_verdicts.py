"""What the live judge said during a drill, from the run folder that `unhang run` wrote."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhang.live.run_folder.layout import RunFolder


class Level(enum.Enum):
    """How much a word says. The value is shown to people."""

    LATE = "late"
    """Others wait for these ranks, which are at work."""
    SUSPECTED = "suspected"
    HANG = "hang"
    """A hang is confirmed."""
    VERDICT = "verdict"
    """The diagnosis of the hang, which was printed then."""
    END = "end"
    """The verdict on a job that has ended."""


CALLS = frozenset({Level.HANG, Level.VERDICT, Level.END})
"""Words that accuse."""
NAMES = CALLS | {Level.SUSPECTED}
"""Words that say who holds the others up, whether the job may be ended for it or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveVerdict:
    """What the live judge said of a job.

    Attributes:
        at: ISO time.
        culprits: global ranks.
        phase: they were in, or None.
        said: cause or outcome, or None where it says neither.
        why: its sentence.
    """

    level: Level
    at: str
    culprits: tuple[int, ...]
    phase: str | None = None
    said: str | None = None
    why: str = ""


_LEVELS = {
    "waiting": Level.LATE,
    "stall_suspected": Level.SUSPECTED,
    "hang_confirmed": Level.HANG,
}


def words(run: Path) -> tuple[LiveVerdict, ...]:
    """Everything that the judge said of somebody, in its order."""
    found = [word for row in _events(run) if (word := _word(row)) is not None]
    hangs = [word for word in found if word.level is Level.HANG]
    verdicts = [_verdict(path, hangs) for path in sorted(_diagnoses(run))] if hangs else []
    return (*found, *verdicts)


def is_captured(run: Path) -> bool:
    """Whether the evidence of the hang is in its bundle."""
    return any(row.get("kind") == "captured" for row in _events(run))


def _word(row: dict[str, Any]) -> LiveVerdict | None:
    kind = row.get("kind")
    level = _LEVELS.get(str(kind))
    if level is not None:
        return _made(row, level, row.get("why"))
    ended = kind == "exited" and "exit_code" in row
    # A launcher that does not look after its ranks ends with 0 after one of them has failed.
    if not ended or (row["exit_code"] == 0 and not row.get("culprits")):
        return None
    if row.get("outcome") == "healthy":
        return None
    return _made(row, Level.END, row.get("verdict") or row.get("why"))


def _made(row: dict[str, Any], level: Level, why: object) -> LiveVerdict:
    return LiveVerdict(
        level=level,
        at=str(row["at"]),
        culprits=tuple(row.get("culprits", ())),
        phase=row.get("phase"),
        said=row.get("cause") or row.get("outcome"),
        why=str(why or ""),
    )


def _diagnoses(run: Path) -> Iterator[Path]:
    return RunFolder(run).captures.glob("*/diagnosis.json")


def _verdict(path: Path, hangs: list[LiveVerdict]) -> LiveVerdict:
    """The diagnosis that was printed when a hang was confirmed; it has no time of its own."""
    found = json.loads(path.read_text(encoding="utf-8"))
    row = {**found, "at": hangs[0].at}
    return _made(row, Level.VERDICT, found.get("summary"))


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
