"""Counts the collectives that Python code issues, and changes single ones.

Those that DDP and FSDP2 issue from C++ are not seen here; faults at a `step` reach them.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .acts import traffic
from .declared import Fault
from .director import Director
from .imports import when_imported

_C10D = "torch.distributed.distributed_c10d"
_NAMES = (
    *("all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single"),
    *("barrier", "broadcast", "gather", "reduce", "reduce_scatter", "reduce_scatter_tensor"),
    *("scatter", "send", "recv", "isend", "irecv"),
)


class _Done:
    """Stands for a call that was not issued, where the program wants to wait for it."""

    def wait(self, *_: Any) -> bool:
        """Nothing to wait for."""
        return True

    def is_completed(self) -> bool:
        """It is over."""
        return True


class _CollectiveFaults:
    """Where all calls of this process pass."""

    def __init__(self, director: Director) -> None:
        self._director = director
        self._held: list[Callable[[], Any]] = []
        self._own = threading.local()

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted, and changed when it is its turn."""

        @functools.wraps(original)
        def issue(*args: Any, **options: Any) -> Any:
            if getattr(self._own, "busy", False):
                return original(*args, **options)
            self._own.busy = True
            try:
                return self._issue(original, args, options)
            finally:
                self._own.busy = False

        return issue

    def _issue(
        self, original: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        director = self._director
        director.calls += 1
        held, self._held = self._held, []
        director.reached("call", director.calls)
        changes = [f for f in director.due("call", director.calls) if f.what in CHANGES]
        if changes and director.take(changes[0]):
            result = self._changed(changes[0], original, args, options)
        else:
            result = original(*args, **options)
        for late in held:
            late()
        return result

    def _changed(
        self,
        fault: Fault,
        original: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        if fault.what == "swap_calls":
            self._held = [functools.partial(original, *args, **options)]
        if fault.what in ("swap_calls", "skip_call"):
            return _Done() if options.get("async_op") else None
        if fault.what == "other_call":
            return _other(original, args)
        change = CHANGES[fault.what]
        return original(
            *(_map(change, value) for value in args),
            **{name: _map(change, value) for name, value in options.items()},
        )


def install(director: Director) -> None:
    """Hook into the module of collectives."""
    when_imported(_C10D, functools.partial(_change, faults=_CollectiveFaults(director)))


def _change(module: ModuleType, *, faults: _CollectiveFaults) -> None:
    for name in _NAMES:
        if hasattr(module, name):
            setattr(module, name, faults.wrap(getattr(module, name)))


def _other(original: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Another operation in the place of this one, on the same tensor."""
    module: Any = sys.modules[_C10D]
    if args and original.__name__ != "broadcast":
        return module.broadcast(args[0], 0)
    if original.__name__ != "barrier":
        return module.barrier()
    return traffic.issue(module, "all_reduce")


def _larger(tensor: Any) -> Any:
    """Twice the elements, and 64 at least."""
    return tensor.new_zeros(max(64, 2 * tensor.numel()))


def _other_type(tensor: Any) -> Any:
    """The same numbers in another type."""
    import torch

    return tensor.to(torch.float32 if tensor.dtype == torch.float64 else torch.float64)


def _same(tensor: Any) -> Any:
    return tensor


CHANGES: dict[str, Callable[[Any], Any]] = {
    "wrong_size": _larger,
    "wrong_dtype": _other_type,
    "skip_call": _same,
    "swap_calls": _same,
    "other_call": _same,
}
"""Kinds that change a call, with what they make of each of its tensors."""


def _map(change: Callable[[Any], Any], value: Any) -> Any:
    """A tensor changed, and those in a list."""
    if isinstance(value, list):
        return [_map(change, each) for each in value]
    return change(value) if hasattr(value, "numel") else value
