"""What a program may tell the judge of itself: its phase and its steps.

Nothing needs it, and without a judge that watches it does nothing.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

PhaseName = Literal[
    "init", "load", "data", "compile", "train", "eval", "generate", "save", "logging", "teardown"
]
"""The phases that the judge knows; it leaves other words aside."""

_PROBE = "_unhang_probe.declared"
"""Loaded by the probe of `unhang run`, and by nobody else."""
_NOTHING = contextlib.nullcontext()


def phase(name: PhaseName) -> AbstractContextManager[None]:
    """Tell the judge that the main thread is in a phase as long as the context lasts.

    Args:
        name: of the phase; the judge leaves words aside that it does not know.

    >>> with phase("save"):
    ...     pass
    """
    probe: Any = sys.modules.get(_PROBE)
    inside: AbstractContextManager[None] = _NOTHING if probe is None else probe.Inside(name)
    return inside


def step(number: int | None = None) -> None:
    """Tell the judge that a step of the training is done.

    Args:
        number: of the step, in the program's own count; None = one more than before.

    >>> step(100)
    """
    probe: Any = sys.modules.get(_PROBE)
    if probe is not None:
        probe.step(number)
