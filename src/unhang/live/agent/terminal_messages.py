"""What the agent says to the user, through the relay: few lines, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unhang.live.messages.actions import Note
from unhang.model.diagnosis import Diagnosis
from unhang.reporters import render
from unhang.reporters.catalogue import write
from unhang.reporters.style import Style


class TerminalMessages:
    """Words in the user's language.

    Args:
        style: of their terminal.
        send: takes a message to the relay.
    """

    def __init__(self, style: Style, send: Callable[[dict[str, Any]], None]) -> None:
        self._style = style
        self._send = send

    def tell(self, note: Note) -> None:
        """Say one line."""
        doubts = (*note.against, *([] if note.cost is None else [note.cost]))
        sentences = [write(message, self._style.language) for message in (note.why, *doubts)]
        self._send({"say": "; ".join(sentences)})

    def show(self, diagnosis: Diagnosis) -> None:
        """Show a verdict as `unhang diagnose` does."""
        self._send({"say": render(diagnosis, "terminal", self._style) + "\n"})

    def finish(self, exit_code: int | None, outcome: str | None) -> None:
        """The last word.

        Args:
            exit_code: replaces that of the command, or None.
            outcome: of the verdict, or None where nothing was judged.
        """
        self._send({"done": {"exit_code": exit_code, "outcome": outcome}})
