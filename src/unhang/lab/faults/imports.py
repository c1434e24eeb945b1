"""Runs a function on a module right after it was imported, whoever imports it."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _FaultFinder(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: it lets the others find, and adds the changes to the loading."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Callable[[ModuleType], None]]] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the search below finds out by itself
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The spec of a module that is to be changed, with a loader that does so."""
        if fullname not in self.changes:
            return None
        changes = self.changes.pop(fullname)
        # Gone from the table, so that the search below does not come back here.
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            _change_after(spec.loader, changes)
        return spec


_FINDER = _FaultFinder()


def when_imported(name: str, change: Callable[[ModuleType], None]) -> None:
    """Call `change(module)` when `name` has been imported, or now if it is."""
    module = sys.modules.get(name)
    if module is not None:
        change(module)
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.changes.setdefault(name, []).append(change)


def _change_after(
    loader: importlib.abc.Loader, changes: list[Callable[[ModuleType], None]]
) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        for change in changes:
            change(module)

    # An attribute of this one loader: other modules have loaders of their own.
    loader.exec_module = exec_module  # type: ignore[method-assign]
