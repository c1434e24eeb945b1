"""What the user asked for when a hang is confirmed: a command of theirs, a message to people."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.losses import Loss
from unhang.live.messages.request import COMMAND, RunRequest
from unhang.live.run_folder.journal import RunJournal
from unhang.model.diagnosis import Diagnosis
from unhang.model.ids import format_ranks
from unhang.model.provenance import Message
from unhang.notify import Alert, Delivery, read_targets, tell
from unhang.reporters.catalogue import sentence, write


class _Users:
    """What the user's own commands are started with.

    Attributes:
        umask: -1 = ours.
    """

    umask = -1


def keep_private() -> None:
    """What this process writes is for its owner; commands of the user keep their umask."""
    _Users.umask = os.umask(0o077)


class Hooks:
    """Both, never waited for.

    Args:
        request: says which.
        journal: where it is noted.

    Raises:
        UsageError: an address of `--notify` is none.
    """

    def __init__(self, request: RunRequest, journal: RunJournal) -> None:
        self._request = request
        self._journal = journal
        self._targets = read_targets(request.notify)

    def run(self, hang: Note, capture: Path) -> None:
        """Start the command of `--on-hang exec:`; its output goes to `exec.log` in the capture.

        It finds in its environment: UNHANG_RUN_FOLDER, UNHANG_CAPTURE (a folder with
        `diagnosis.json`), UNHANG_CULPRITS (`1,3-5`), UNHANG_PHASE, UNHANG_WHY, UNHANG_SINCE_S.
        """
        if not self._request.on_hang.startswith(COMMAND):
            return
        command = self._request.on_hang.removeprefix(COMMAND)
        facts = {
            "UNHANG_RUN_FOLDER": str(self._request.root),
            "UNHANG_CAPTURE": str(capture),
            "UNHANG_CULPRITS": format_ranks(hang.culprits),
            "UNHANG_PHASE": "" if hang.phase is None else hang.phase.value,
            "UNHANG_WHY": write(hang.why),
            "UNHANG_SINCE_S": "" if hang.since_s is None else f"{hang.since_s:.1f}",
        }
        try:
            capture.mkdir(parents=True, exist_ok=True)
            with (capture / "exec.log").open("ab") as log:
                process = subprocess.Popen(  # noqa: S602 (the user's own shell command)
                    command,
                    shell=True,
                    env=os.environ | facts,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    umask=_Users.umask,
                )
        except OSError as error:
            self._journal.lose(Loss.of("hook_unstarted", why=str(error.strerror)))
            return
        threading.Thread(target=process.wait, name="on-hang", daemon=True).start()

    def notify(self, note: Note, diagnosis: Diagnosis | None) -> None:
        """Tell the people, with the cause where it is known."""
        cause = None if diagnosis is None or diagnosis.cause is None else diagnosis.cause.value
        language = self._request.style.language
        summary = note.why if diagnosis is None or cause is None else diagnosis.summary
        alert = Alert(
            kind=note.kind.value,
            at=self._journal.now,
            run=self._request.root.name,
            host=self._request.host,
            summary=sentence(summary, language),
            culprits=note.culprits,
            phase=None if note.phase is None else note.phase.value,
            since_s=note.since_s,
            cause=cause,
            folder=str(self._request.root),
        )
        tell(self._targets, alert, language=language, report=self._delivered)

    def _delivered(self, delivery: Delivery) -> None:
        if delivery.failure is not None:
            self._journal.lose(Loss.of("not_told", target=delivery.target, why=delivery.failure))
            return
        why = Message(key="run.notified", values={"target": delivery.target})
        self._journal.note(Note(kind=NoteKind.NOTIFIED, why=why))
