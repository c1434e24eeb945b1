"""What the program says of itself, through `unhang.phase` and `unhang.step`."""

from __future__ import annotations

import threading

from . import steps

_phases: list[str] = []
"""Those that the main thread is in, the innermost last."""


class Inside:
    """A phase that lasts as long as this context; of another thread than the main one it is not."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._entered = False

    def __enter__(self) -> None:
        self._entered = threading.current_thread() is threading.main_thread()
        if self._entered:
            _phases.append(self._name)

    def __exit__(self, *_: object) -> None:
        if self._entered and _phases:
            _phases.pop()


def step(number: int | None) -> None:
    """A step is done; from now on the optimizer's are not counted."""
    steps.COUNT.declare(number)


def phase() -> str | None:
    """The innermost phase that the program has declared."""
    told = _phases[-1:]
    return told[0] if told else None
