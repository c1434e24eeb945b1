"""From a run folder to what a screen shows at one moment, live or later."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from unhang.errors import ArtifactError, UsageError
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.run_folder import history
from unhang.live.run_folder.layout import RunFolder
from unhang.model.codec import decode
from unhang.model.diagnosis import Outcome
from unhang.model.provenance import Message
from unhang.parsers.check_report import read_check

_STALE_S = 10.0
"""An agent replaces its view every second; after this long without one it is no longer there."""

_BESIDE_S, _FAR_S = 1.5, 60.0
"""Samples lie a second apart; in the older half of a long run, further."""

_MOST_LINE = 1 << 16
"""Characters of one event; a forged file must not fill the memory."""

_MOST_READ = 4 << 20
"""Bytes of events that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What was run.

    Attributes:
        ended: ISO 8601, or None while it runs (or when nobody was left to write it).
        exit_code: of the job, or None.
    """

    command: tuple[str, ...] = ()
    host: str = ""
    started: str = ""
    ended: str | None = None
    exit_code: int | None = None
    timeouts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """One line of `events.jsonl`; `number` counts them from 1.

    `why` is English; `message` fits every language, and is None where an older release wrote.
    """

    number: int
    at: str
    kind: str
    ranks: str
    phase: str
    why: str
    message: Message | None = None


class Feed:
    """Reads a run folder again and again; each call gives what is new.

    Args:
        root: the run folder.
        check: a report of `unhang check`; None = the `check.json` of the folder, if it has one.

    Raises:
        UsageError: it is no run folder.
    """

    def __init__(self, root: Path, check: Path | None = None) -> None:
        self.folder = RunFolder(root)
        try:
            self.checked = read_check(check or root / "check.json")
        except OSError as error:
            if check is not None:
                raise UsageError(f"{check} cannot be read: {error.strerror}") from error
            self.checked = []
        if not self.folder.record.is_file():
            raise UsageError(
                f"{root} holds no run.json; expected a folder that `unhang run` made"
                " (unhang-runs/<time>-<command>, or what --out named)"
            )

    def record(self) -> RunRecord:
        """What was run, and whether it has ended."""
        data = _object(self.folder.record)
        command = data.get("command")
        return RunRecord(
            command=tuple(str(word) for word in command) if isinstance(command, list) else (),
            host=_text(data.get("host")),
            started=_text(data.get("started")),
            ended=_text(data.get("ended")) or None,
            exit_code=code if isinstance(code := data.get("exit_code"), int) else None,
            timeouts=_text(data.get("timeouts")),
        )

    def standing(self) -> JobSnapshot | None:
        """The last view, or None: nothing yet, or a file that another release wrote.

        Once the run has ended and its evidence has proved a cause, only those whom that verdict
        names are still suspected: whoever goes first looks guilty to those that wait.
        """
        data = _object(self.folder.standing)
        try:
            standing = decode(JobSnapshot, data.get("standing", data)) if data else None
        except ValueError:
            return None
        verdict = self.verdict() if standing is not None and self.record().ended else None
        if standing is None or verdict is None or verdict.get("outcome") != Outcome.CAUSE.value:
            return standing
        named = verdict.get("culprits")
        culprits = {r for r in named if isinstance(r, int)} if isinstance(named, list) else set()
        kept = tuple(s for s in standing.suspicions if s.culprits <= culprits)
        return replace(standing, suspicions=kept)

    def is_live(self) -> bool:
        """Whether an agent still replaces the view."""
        if self.record().ended is not None:
            return False
        try:
            return time.time() - self.folder.standing.stat().st_mtime < _STALE_S
        except OSError:
            return False

    def past(self, since_s: float | None = None, until_s: float | None = None) -> list[JobSnapshot]:
        """Standings of the history, oldest first; empty where none was kept."""
        if not self.folder.history.is_file():
            return []
        try:
            return list(history.read(self.folder.history, since_s, until_s))
        except ArtifactError:
            return []

    def nearest(self, at_s: float) -> JobSnapshot | None:
        """The standing of the history that lies nearest to an epoch."""
        for reach_s in (_BESIDE_S, _FAR_S):
            if past := self.past(at_s - reach_s, at_s + reach_s):
                return min(past, key=lambda standing: abs(standing.at_s - at_s))
        return None

    def course(self, most: int = 240) -> list[JobSnapshot]:
        """At most so many standings, spread evenly over the whole run."""
        if not self.folder.history.is_file():
            return []
        try:
            return list(history.spread(self.folder.history, most))
        except ArtifactError:
            return []

    def span(self) -> tuple[float, float] | None:
        """Epochs of the first and the last sample of the history."""
        if not self.folder.history.is_file():
            return None
        try:
            return history.span(self.folder.history)
        except ArtifactError:
            return None

    def verdict(self, at_s: float | None = None) -> Mapping[str, object] | None:
        """The newest diagnosis that the agent wrote, as its JSON; None while there is none.

        Args:
            at_s: epoch; only what had been written by then. None = now.
        """
        files = sorted(self.folder.captures.glob("*/diagnosis.json"), key=_written)
        files = [file for file in files if at_s is None or _written(file) <= at_s]
        told = _object(files[-1]) if files else {}
        return {**told, "written_s": _written(files[-1])} if told else None


class EventTail:
    """Reads `events.jsonl` as it grows.

    Args:
        path: the file, which may not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._number = 0

    def fresh(self) -> list[RunEvent]:
        """Events since the last call; a line that is still being written waits."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_MOST_READ)
        except OSError:
            return []
        whole, line_end, _ = data.rpartition(b"\n")
        self._offset += len(whole) + len(line_end)
        return [event for line in whole.splitlines() if (event := self._event(line)) is not None]

    def _event(self, line: bytes) -> RunEvent | None:
        try:
            data = json.loads(line[:_MOST_LINE])
        except ValueError:
            return None
        if not isinstance(data, dict):
            return None
        self._number += 1
        ranks = data.get("culprits") or data.get("ranks") or []
        return RunEvent(
            number=self._number,
            at=_text(data.get("at")),
            kind=_text(data.get("kind")),
            ranks=_ranks(ranks),
            phase=_text(data.get("phase")),
            why=_text(data.get("why")),
            message=_message(data.get("message")),
        )


def _message(value: object) -> Message | None:
    try:
        return None if value is None else decode(Message, value)
    except ValueError:
        return None


def _ranks(value: object) -> str:
    if isinstance(value, str):
        return value
    return ",".join(str(rank) for rank in value) if isinstance(value, list) else ""


def _object(path: Path) -> dict[str, object]:
    """The JSON object of a file; empty where there is none, or it is being replaced."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
