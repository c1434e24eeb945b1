"""The truth about a drill, written beside its artifacts (`truth.json`)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from unhang.errors import UsageError
from unhang.lab.drill import HEALTHY, LOCATED, UNDETERMINED, Drill
from unhang.model.causes import Cause

SCHEMA = "unhang.truth/1"
FILE = "truth.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What happened, and what may be said of it.

    Attributes:
        drill: its name.
        cause: the right cause, or None where the taxonomy has none.
        culprits: global ranks.
        accept: answers that are right: causes, and outcomes that are none.
        must_not: causes that would be false blame.
        phase: of the culprits, or None where it is no part of the truth.
        at: ISO time of the fault, written by the rank just before; None: it never happened.
        world_size: number of ranks.
        finishes: nothing was wrong.
        may_end: the culprits are late, and nobody can call that a hang.
        kinds: of the faults.
        exit_code: of the launcher.
        seconds: the job took.
        torch: version of torch that ran it, or None.
    """

    drill: str
    cause: str | None
    culprits: tuple[int, ...]
    accept: tuple[str, ...]
    must_not: tuple[str, ...]
    phase: str | None
    at: str | None
    world_size: int
    finishes: bool
    may_end: bool = False
    kinds: tuple[str, ...] = ()
    exit_code: int | None = None
    seconds: float | None = None
    torch: str | None = None

    def write(self, folder: Path) -> None:
        """Write `truth.json`."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1)
        (folder / FILE).write_text(text + "\n", encoding="utf-8")


def truth_of(
    drill: Drill,
    *,
    at: str | None,
    world_size: int,
    exit_code: int | None,
    seconds: float,
    stopped: bool = False,
) -> Truth:
    """What is known before the job runs, and what it added.

    Args:
        drill: what was run.
        at: ISO time of the fault.
        world_size: number of ranks.
        exit_code: of the launcher.
        seconds: the job took.
        stopped: the drill ended the job, which may then be said too.
    """
    accept = (drill.expected, *drill.accept)
    if stopped:
        accept = (*accept, Cause.EXTERNAL_STOP.value)
    return Truth(
        drill=drill.name,
        cause=None if drill.cause is None else drill.cause.value,
        culprits=tuple(sorted(drill.culprits)),
        accept=accept,
        must_not=tuple(cause.value for cause in Cause if cause.value not in accept),
        phase=None if drill.phase is None else drill.phase.value,
        at=at,
        world_size=world_size,
        finishes=drill.finishes,
        may_end=drill.may_end,
        kinds=drill.kinds,
        exit_code=exit_code,
        seconds=round(seconds, 1),
    )


def read_truth(folder: Path) -> Truth:
    """Read what a drill left.

    Raises:
        UsageError: the folder is not that of a drill.
    """
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}); give the folder that `unhang drill run` wrote"
        ) from error
    if not isinstance(found, dict) or found.pop("schema", None) != SCHEMA:
        raise UsageError(f"{path} is not of the schema {SCHEMA}; run the drill again")
    lists = {
        name: tuple(found.get(name, ())) for name in ("culprits", "accept", "must_not", "kinds")
    }
    return Truth(**{**found, **lists})


__all__ = ["FILE", "HEALTHY", "LOCATED", "UNDETERMINED", "Truth", "read_truth", "truth_of"]
