"""What the user asked for when a hang is confirmed: a command of theirs, a message to people."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from unhang.live.actions import Note
from unhang.live.request import COMMAND, RunRequest
from unhang.model.ids import format_ranks
from unhang.reporters.catalogue import write


class Hooks:
    """Both, never waited for.

    Args:
        request: says which.
        lose: told what could not be done, as a sentence.
    """

    def __init__(self, request: RunRequest, lose: Callable[[str], None]) -> None:
        self._request = request
        self._lose = lose

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
                )
        except OSError as error:
            self._lose(f"the command of --on-hang cannot be started: {error.strerror}")
            return
        threading.Thread(target=process.wait, name="on-hang", daemon=True).start()

    def notify(self, note: Note) -> None:
        """Tell the people."""
        for address in self._request.notify:
            threading.Thread(
                target=self._send, args=(address, note), name="notify", daemon=True
            ).start()

    def _send(self, address: str, note: Note) -> None:
        raise NotImplementedError
