"""Says when a phase of the job begins, at the place of the library that works in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .director import Director
from .imports import when_imported


def install(director: Director, phases: set[str]) -> None:
    """Hook into the library code of the phases that are asked for."""
    if "save" in phases:
        _wrap(director, "save", "torch.serialization", "_save")
    if "data" in phases:
        _wrap(director, "data", "torch.utils.data._utils.fetch", "_MapDatasetFetcher.fetch")
        _wrap(director, "data", "torch.utils.data._utils.fetch", "_IterableDatasetFetcher.fetch")
    if "compile" in phases:
        _wrap(director, "compile", "torch._inductor.compile_fx", "compile_fx")
    if "eval" in phases:
        when_imported("torch.nn.modules.module", functools.partial(_watch_eval, director=director))


def _wrap(director: Director, phase: str, module: str, path: str) -> None:
    """Tell of every call of a function, or of a class's method, of `module`."""

    def change(loaded: ModuleType) -> None:
        *owners, name = path.split(".")
        owner: Any = functools.reduce(getattr, owners, loaded)
        setattr(owner, name, _telling(director, phase, getattr(owner, name)))

    when_imported(module, change)


def _telling(director: Director, phase: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **options: Any) -> Any:
        director.passed("phase", phase)
        return original(*args, **options)

    return call


def _watch_eval(module: Any, *, director: Director) -> None:
    """An evaluation begins with the first forward pass after `model.eval()`."""
    to_eval = module.Module.eval

    @functools.wraps(to_eval)
    def call(self: Any) -> Any:
        changed = to_eval(self)
        _tell_at_forward(module, director)
        return changed

    module.Module.eval = call


def _tell_at_forward(module: Any, director: Director) -> None:
    def forward(*_: Any) -> None:
        handle.remove()
        director.passed("phase", "eval")

    handle = module.register_module_forward_pre_hook(forward)
