"""From lines to events: one file per format, found by walking the package; `PARSERS` lists them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from unhang.parsers.base import Parser


def _found() -> Iterator[type[Parser]]:
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        for kind in vars(importlib.import_module(info.name)).values():
            if isinstance(kind, type) and kind.__module__ == info.name and "NAME" in vars(kind):
                yield kind


PARSERS: tuple[type[Parser], ...] = tuple(_found())
"""Every parser, in alphabetical order of module."""
