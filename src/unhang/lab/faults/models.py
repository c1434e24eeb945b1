"""A part of the model that some ranks do not use in a step: its parameters get no gradient."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from .director import Director
from .imports import when_imported

_KIND = "unused_parameters"


def install(director: Director) -> None:
    """Hook into DDP, where a fault asks for it."""
    if director.declared(_KIND):
        when_imported("torch.nn.parallel.distributed", functools.partial(_change, director))


def _change(director: Director, module: ModuleType) -> None:
    data_parallel: Any = module.DistributedDataParallel
    initialise = data_parallel.__init__

    @functools.wraps(initialise)
    def made(self: Any, *args: Any, **options: Any) -> None:
        initialise(self, *args, **options)
        part = _first_part(self.module)
        if part is not None:
            part.register_forward_hook(functools.partial(_detach, director))

    data_parallel.__init__ = made


def _detach(director: Director, part: Any, _: Any, output: Any) -> Any:
    """In the step of the fault, what the part gives does not lead back to its parameters."""
    if not part.training or not hasattr(output, "detach"):
        return None
    for fault in director.due("step", director.steps):
        if fault.what == _KIND and director.take(fault):
            return output.detach()
    return None


def _first_part(model: Any) -> Any:
    """The first part with parameters of its own, if another one follows."""
    parts = [part for part in model.modules() if any(True for _ in part.parameters(recurse=False))]
    return parts[0] if len(parts) > 1 else None
