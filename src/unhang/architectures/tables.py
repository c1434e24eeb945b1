"""The package's tables of model families and known models."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@cache
def table(name: str) -> Mapping[str, Any]:
    """One of the TOML tables beside this module."""
    file = files("unhang.architectures") / "data" / f"{name}.toml"
    rows: Mapping[str, Any] = tomllib.loads(file.read_text("utf-8"))
    return rows
