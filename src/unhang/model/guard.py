"""What fails costs only itself: one guard around each part, and a `Problem` for the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from unhang.model.provenance import Problem

D = TypeVar("D")
P = ParamSpec("P")


class Guard:
    """Runs parts that must not end the run.

    Args:
        artifact: what all parts work on, or "" where it is no single one.
    """

    def __init__(self, artifact: str = "") -> None:
        self._artifact = artifact
        self._problems: dict[str, Problem] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One for each part that failed, by its first failure."""
        return tuple(self._problems.values())

    def call(
        self, component: str, default: D, part: Callable[P, D], *args: P.args, **more: P.kwargs
    ) -> D:
        """What `part` returns, or `default` where it fails."""
        try:
            return part(*args, **more)
        except Exception as error:
            self.failed(component, error)
            return default

    def failed(self, component: str, error: Exception, where: str = "") -> None:
        """Note that a part failed, perhaps at a line."""
        told = f"{type(error).__name__}: {error}"[:200]
        self.note(component, f"{component} failed{where} ({told}); the rest was used")

    def note(self, component: str, message: str) -> None:
        """Note a problem, unless the part has one."""
        self._problems.setdefault(
            component, Problem(artifact=self._artifact, component=component, message=message)
        )
