"""Diagnoses the run folder in a thread, while the agent goes on watching."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unhang.live.folder import RunFolder
from unhang.live.record import write_json
from unhang.model.diagnosis import Diagnosis
from unhang.reporters import render
from unhang.reporters.style import PLAIN


@dataclass(frozen=True, slots=True)
class Examined:
    """What came of it.

    Attributes:
        number: of the dumps that were read; 0 = none were ordered.
        diagnosis: the verdict, or None where there was none.
        failure: why there was none, as a sentence.
    """

    number: int
    diagnosis: Diagnosis | None
    failure: str = ""


def warm_up() -> None:
    """Load the rules before they are needed: a verdict is due within seconds."""
    threading.Thread(target=_load, name="warm-up", daemon=True).start()


def examine(folder: RunFolder, number: int, report: Callable[[Examined], None]) -> None:
    """Diagnose what is there; `report` is called from another thread."""

    def work() -> None:
        report(_examine(folder, number))

    threading.Thread(target=work, name=f"examine-{number}", daemon=True).start()


def keep(folder: RunFolder, number: int, diagnosis: Diagnosis) -> None:
    """Write the verdict beside the capture of that number.

    Raises:
        OSError: it cannot be written.
    """
    import json

    place = folder.captures / str(number)
    place.mkdir(parents=True, exist_ok=True)
    write_json(place / "diagnosis.json", json.loads(render(diagnosis, "json", PLAIN)))


def _examine(folder: RunFolder, number: int) -> Examined:
    from unhang.api import diagnose

    paths = [str(path) for path in _evidence(folder, number)]
    try:
        return Examined(number, diagnose(*paths))
    except Exception as error:  # whatever it was, the job is watched on
        return Examined(number, None, f"no verdict: {type(error).__name__}: {error}")


def _evidence(folder: RunFolder, number: int) -> list[Path]:
    """What tells of this moment: older dumps do not."""
    places = [folder.root / "output", folder.dump(number), folder.stacks, folder.standing]
    return [place for place in places if place.exists()]


def _load() -> None:
    import unhang.api  # noqa: F401
