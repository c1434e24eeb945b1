"""Diagnoses the run folder in a thread, while the agent goes on watching."""

from __future__ import annotations

import contextlib
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


def examine(
    folder: RunFolder, number: int, since_s: float, report: Callable[[Examined], None]
) -> None:
    """Diagnose what is there; `report` is called from another thread.

    Args:
        folder: the run folder.
        number: of the dumps that tell of this moment; 0 = none do.
        since_s: epoch at which this start of the job began: older stacks are of another one.
        report: takes the result.
    """

    def work() -> None:
        report(_examine(folder, number, since_s))

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


def _examine(folder: RunFolder, number: int, since_s: float) -> Examined:
    try:
        from unhang.api import diagnose

        paths = [str(path) for path in _evidence(folder, number, since_s)]
        return Examined(number, diagnose(*paths))
    except Exception as error:  # whatever it was, the job is watched on
        return Examined(number, None, f"no verdict: {type(error).__name__}: {error}")


def _evidence(folder: RunFolder, number: int, since_s: float) -> list[Path]:
    """What tells of this moment: older dumps and stacks do not."""
    whole = [folder.root / "output", folder.dump(number), folder.standing]
    files = [*folder.watchdog.glob("*"), *folder.stacks.glob("*")]
    fresh = [path for path in files if path.stat().st_mtime >= since_s and path.stat().st_size > 0]
    return [*(place for place in whole if place.exists()), *fresh]


def _load() -> None:
    with contextlib.suppress(Exception):  # it will be told when the rules are needed
        import unhang.api  # noqa: F401
