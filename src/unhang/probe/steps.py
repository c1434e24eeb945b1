"""Counts optimizer steps, through the hook that torch calls after each."""

from __future__ import annotations

import time
from typing import Any


class Steps:
    """How many, and when the last one ended."""

    def __init__(self) -> None:
        self.attached = False
        self.done = 0
        self.wall_s: float | None = None

    def attach(self, optimizers: Any) -> None:
        """Listen to the optimizers of `torch.optim.optimizer`; an old torch has no such hook."""
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None or self.attached:
            return
        register(self._on_step)
        self.attached = True

    def _on_step(self, *_: Any) -> None:
        self.done += 1
        self.wall_s = time.time()


COUNT = Steps()
"""Of this process."""
