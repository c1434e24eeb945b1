"""Diagnoses the run folder in a thread, while the agent goes on watching."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from unhang.live.messages.losses import Loss
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import write_json
from unhang.model.diagnosis import Diagnosis
from unhang.reporters import render
from unhang.reporters.style import PLAIN
from unhang.sources.run_folder import evidence

_OUTPUT_BYTES = 8 << 20
"""Of each file, of its end, where only a part of it tells of this moment."""


@dataclass(frozen=True, slots=True)
class InterimDiagnosis:
    """What came of it.

    Attributes:
        number: of the dumps that were read; 0 = none were ordered.
        diagnosis: the verdict, or None where there was none.
        failure: why there was none.
    """

    number: int
    diagnosis: Diagnosis | None
    failure: Loss | None = None


@dataclass(frozen=True, slots=True)
class StartMoment:
    """When a start of the job began.

    Attributes:
        at_s: epoch, by the clock of the run; 0 = there was no start before it.
        back_s: how far the host's clock, which dates files, was at most behind that one, as a
            negative number.
    """

    at_s: float
    back_s: float = 0.0

    @property
    def of_files_s(self) -> float:
        """No file of this start is older."""
        return self.at_s + self.back_s


def warm_up() -> None:
    """Load the rules before they are needed: a verdict is due within seconds."""
    threading.Thread(target=_load, name="warm-up", daemon=True).start()


def examine(
    folder: RunFolder, number: int, since: StartMoment, report: Callable[[InterimDiagnosis], None]
) -> None:
    """Diagnose what is there; `report` is called from another thread.

    Args:
        folder: the run folder.
        number: of the dumps that tell of this moment; 0 = none do.
        since: when this start of the job began.
        report: takes the result.
    """

    def work() -> None:
        report(_examine(folder, number, since))

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


def _examine(folder: RunFolder, number: int, since: StartMoment) -> InterimDiagnosis:
    try:
        from unhang.api import diagnose

        paths = [str(path) for path in _evidence(folder, number, since)]
        return InterimDiagnosis(number, diagnose(*paths))
    except Exception as error:  # whatever it was, the job is watched on
        return InterimDiagnosis(number, None, Loss.failed("no_verdict", error))


def _evidence(folder: RunFolder, number: int, since: StartMoment) -> list[Path]:
    """What tells of this moment: dumps, stacks and output of earlier starts of the job do not.

    At the end (0) it is what `unhang diagnose` of the folder reads, so that both say the same.
    """
    if not number:
        return [Path(part) for part in evidence(str(folder.root))]
    whole = [folder.dump(number), folder.standing]
    if since.at_s:
        _write_output_since(folder, number, since.at_s)
    else:
        whole.append(folder.output_root)
    files = [*folder.watchdog.glob("*"), *folder.stacks.glob("*")]
    fresh = [
        path
        for path in files
        if path.stat().st_mtime >= since.of_files_s and path.stat().st_size > 0
    ]
    return [*(place for place in whole if place.exists()), *fresh]


def _write_output_since(folder: RunFolder, number: int, since_s: float) -> None:
    """Put what was printed since then beside the dumps."""
    mark = datetime.fromtimestamp(since_s, timezone.utc).isoformat(timespec="microseconds").encode()
    for path in sorted(folder.output_root.glob("*/*.log")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _OUTPUT_BYTES))
            lines = file.readlines()
        part = folder.dump(number) / path.relative_to(folder.root)
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(b"".join(line for line in lines if line[: len(mark)] >= mark))


def _load() -> None:
    with contextlib.suppress(Exception):  # it will be told when the rules are needed
        import unhang.api
        import unhang.capturing  # noqa: F401
