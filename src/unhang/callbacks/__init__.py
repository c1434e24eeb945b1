"""Callbacks of frameworks that tell the judge their steps and phases, by `unhang.phase` and `step`.

A framework tells when a phase begins, but not always when it ends: then the next one ends it.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from unhang.declared import phase

if TYPE_CHECKING:
    from unhang.declared import PhaseName


class OnePhase:
    """The phase that a framework is in, one at a time."""

    def __init__(self) -> None:
        self._inside = ExitStack()

    def enter(self, name: PhaseName | None) -> None:
        """A phase begins, or (None) the last one is over."""
        self._inside.close()
        if name is not None:
            self._inside.enter_context(phase(name))
