"""Calls back after a module was imported, and leaves the module as it would have been.

A finder in front of the others lets them find the module and has its loader tell us; nothing of
ours stays in the module. A call back that fails is forgotten: the import succeeds.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` costs 10 ms, and this runs in every process
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_waiting: dict[str, Callable[[], None]] = {}


def after(module: str, call: Callable[[], None]) -> None:
    """Call once `module` is imported; at once when it is."""
    if module in sys.modules:
        call()
        return
    if not any(isinstance(finder, _ImportWatcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _ImportWatcher())
    _waiting[module] = call


class _ImportWatcher:
    """Finds nothing by itself."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if isinstance(finder, _ImportWatcher) or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                _listen(spec.loader, name)
                return spec
        return None


def _listen(loader: Any, name: str) -> None:
    run = getattr(loader, "exec_module", None)

    def exec_module(module: Any) -> None:
        del loader.exec_module
        run(module)  # type: ignore[misc]  # it is there: see below
        call = _waiting.pop(name, None)
        try:
            if call is not None:
                call()
        except Exception:
            # The host's import is done and well; what the probe lacks, its board will not show.
            return

    if run is None:
        return
    try:
        loader.exec_module = exec_module
    except AttributeError:
        return
