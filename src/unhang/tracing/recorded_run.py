"""From the history of a run folder to slices: what each rank was seen to do, second by second."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

from unhang.errors import ArtifactError
from unhang.live.run_folder import history
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.rank_times import slices_of
from unhang.model.trace import Moment, Slice

_MOST_LINE = 1 << 16
_MOST_EVENTS = 20_000


def read_run(folder: RunFolder, most: int = 2_000) -> tuple[list[Slice], list[Moment]]:
    """Return what ranks did and what happened, from at most `most` samples."""
    try:
        samples = list(history.spread(folder.history, most)) if folder.history.is_file() else []
    except ArtifactError:
        samples = []
    return slices_of(samples), list(_moments(folder.events))


def _moments(path: Path) -> Iterator[Moment]:
    try:
        with path.open("rb") as file:
            for _ in range(_MOST_EVENTS):
                line = file.readline(_MOST_LINE)
                if not line:
                    return
                moment = _moment(line)
                if moment is not None:
                    yield moment
    except OSError:
        return


def _moment(line: bytes) -> Moment | None:
    try:
        told = json.loads(line)
        at = datetime.datetime.fromisoformat(str(told["at"]).replace("Z", "+00:00"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if at.tzinfo is None or not isinstance(told.get("kind"), str):
        return None
    why = told.get("why")
    name = f"{told['kind']}: {why}" if isinstance(why, str) and why else told["kind"]
    return Moment(at_s=at.timestamp(), name=name[:400])
