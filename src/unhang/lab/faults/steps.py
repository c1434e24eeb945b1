"""Counts optimizer steps, and lets faults happen at the next line of the program."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from .director import Director
from .imports import when_imported
from .program import is_program


def watch_steps(director: Director) -> None:
    """Count the steps of every optimizer."""
    when_imported("torch.optim.optimizer", functools.partial(_count, director=director))


def _count(module: ModuleType, *, director: Director) -> None:
    def stepped(*_: Any) -> None:
        director.steps += 1
        steps = director.steps
        if director.due("step", steps) or director.declared(moment="seconds"):
            at_next_line(lambda: director.reached("step", steps))

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(stepped)


def at_next_line(act: Callable[[], None]) -> None:
    """Call `act` at the next line of the innermost code that belongs to no part of torch.

    The stack then shows the program's own function, as if the fault stood in its text.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_program(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        act()
        return

    def trace(traced: FrameType, event: str, _: Any) -> Any:
        if event == "call":
            return None
        sys.settrace(None)
        traced.f_trace = None
        act()
        return None

    frame.f_trace = trace
    sys.settrace(lambda *_: None)
