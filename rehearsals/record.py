"""What a rehearsal found, kept beside what its jobs left."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rehearsals.watching import Said
from unhang.errors import UsageError
from unhang.lab.scoring import Judged, Mark
from unhang.model.codec import decode, document

SCHEMA = "unhang.rehearsal/2"
FILE = "rehearsal.json"

_HANG = 86
"""Exit code of `unhang run` that ended a hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """How an attempt ended.

    Attributes:
        finished: the job printed what only a finished one prints, and ended with 0.
        seconds: it took.
        exit_code: None when it was ended from outside.
    """

    finished: bool
    seconds: float
    exit_code: int | None

    @property
    def word(self) -> str:
        """`finishes`, or how it ends in its place."""
        if self.finished:
            return "finishes"
        return "is ended as a hang" if self.exit_code == _HANG else "fails"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What `unhang run` made of the job.

    Attributes:
        said: what its judge said.
        ending: of the job.
    """

    said: Said
    ending: AttemptEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """All that a rehearsal found.

    Attributes:
        versions: of the framework's packages.
        before: how the job failed.
        judged: the verdicts from the logs alone, and from everything.
        shown: what the commands printed, by a short name.
        after: the job with its remedy.
        live: under `unhang run --on-hang abort`; None where that was not asked for.
        patient: under `unhang run --timeouts judge`, unchanged; None likewise.
        left: what all of it left behind on the machine.
        seconds: all of it took.
    """

    name: str
    versions: dict[str, str]
    before: AttemptEnd
    judged: tuple[Judged, ...]
    shown: dict[str, str]
    after: AttemptEnd
    live: Live | None
    patient: Live | None
    left: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether nothing false was said, the remedy let the job finish, and nothing was left."""
        watched = [each for each in (self.live, self.patient) if each is not None]
        return (
            self.after.finished
            and all(each.mark is not Mark.WRONG for each in self.judged)
            and not any(each.said.accused for each in watched)
            and not self.left
        )

    def write(self, folder: Path) -> None:
        """Write `rehearsal.json`."""
        (folder / FILE).write_text(document(SCHEMA, self) + "\n", encoding="utf-8")


def read_rehearsal(folder: Path) -> Rehearsal | None:
    """What an earlier rehearsal in this folder found; None where there was none.

    Raises:
        UsageError: the file is of another version, or broken.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return _decoded(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be used ({error}); rehearse in a new folder") from error


def _decoded(found: object) -> Rehearsal:
    if not isinstance(found, dict) or found.pop("schema", None) != SCHEMA:
        raise ValueError(f"it is not of the schema {SCHEMA}")
    return decode(Rehearsal, found)
