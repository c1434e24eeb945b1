"""TOML, by the interpreter's own reader or the one that older interpreters need."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "load", "loads"]


def load(package: str, name: str) -> dict[str, Any]:
    """Return what a TOML file of a package holds."""
    data: dict[str, Any] = loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    return data
