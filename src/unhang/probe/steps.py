"""Counts optimizer steps, through the hook that torch calls after each, or as the program says.

A compiled `optimizer.step` traces through that hook: it must do nothing there, or it would break
the graph and have it compiled anew at every step. Such steps are not counted.
"""

from __future__ import annotations

import sys
import time
from typing import Any


class Steps:
    """How many, and when the last one ended."""

    def __init__(self) -> None:
        self.attached = False
        self.done = 0
        self.wall_s: float | None = None
        self._declared: int | None = None

    def attach(self, optimizers: Any) -> None:
        """Listen to the optimizers of `torch.optim.optimizer`; an old torch has no such hook."""
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None or self.attached:
            return
        torch = sys.modules["torch"]

        def on_step(*_: Any) -> None:
            # Asked for where the tracer knows it as a constant; it is loaded after us.
            is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)
            if not is_compiling() and self._declared is None:
                self._count(1)

        register(on_step)
        self.attached = True

    def declare(self, number: int | None) -> None:
        """The program has done a step; a number that went back, or the first one, counts as one."""
        last = self._declared
        self._declared = number if number is not None else (last or 0) + 1
        self._count(1 if last is None else max(1, self._declared - last))
        self.attached = True

    def _count(self, done: int) -> None:
        self.done += done
        self.wall_s = time.time()


COUNT = Steps()
"""Of this process."""
